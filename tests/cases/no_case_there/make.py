import os
import sys

out = sys.argv[1]
os.makedirs(f"{out}/empty")
os.makedirs(f"{out}/photos")
for n in range(3):
    with open(f"{out}/photos/IMG_{n}.jpg", "wb") as f:
        f.write(b"\xff\xd8\xff\xe0\x00\x10JFIF\x00 not really a photo")
