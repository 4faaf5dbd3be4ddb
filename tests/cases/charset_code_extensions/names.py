"""Character set, patient and structure of each case."""
CASES = {
    "japanese": (["", "ISO 2022 IR 87"], "Yamada^Tarou=山田^太郎=やまだ^たろう", "標的"),
    "japanese_katakana": (["ISO 2022 IR 13", "ISO 2022 IR 87"], "ﾔﾏﾀﾞ^ﾀﾛｳ=山田^太郎=やまだ^たろう", "標的"),
    "japanese_single": ("ISO 2022 IR 87", "Yamada^Tarou=山田", "標的"),
    "korean": (["", "ISO 2022 IR 149"], "Hong^Gildong=洪^吉洞=홍^길동", "표적"),
    "chinese": (["", "ISO 2022 IR 58"], "Zhang^XiaoDong=张^小东=", "靶区"),
    "chinese_gb18030": ("GB18030", "Wang^XiaoDong=王^小东=", "靶区"),
    "cyrillic_extended": (["", "ISO 2022 IR 144"], "Иванова^Анна", "Мишень"),
    "greek": ("ISO_IR 126", "Διονύσιος^Α", "Στόχος"),
    "thai": ("ISO_IR 166", "สมชาย^ใจดี", "เป้า"),
    "turkish": ("ISO_IR 148", "Işık^Ayşe", "Hedef_ışın"),
    "unicode": ("ISO_IR 192", "Łukasz^Ż=山田", "Мишень 標的"),
}
