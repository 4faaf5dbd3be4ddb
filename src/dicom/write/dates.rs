//! Dates and times of DICOM, by the Gregorian calendar.

/// The date `days` after 1 January 1970: counted from 1 March, where leap days end a year (Hinnant, "chrono-compatible
/// low-level date algorithms").
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

/// Days from 1 January 1970: the inverse of [`civil`], by the same counting.
fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let year = year - i64::from(month <= 2);
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let from_march = (month + 9) % 12;
    let day_of_year = (153 * from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Seconds since 1970 -> date (YYYYMMDD) and time (HHMMSS).
pub fn date_time(seconds: u64) -> (String, String) {
    let (year, month, day) = civil((seconds / 86_400) as i64);
    let second_of_day = seconds % 86_400;
    let time = format!(
        "{:02}{:02}{:02}",
        second_of_day / 3600,
        second_of_day / 60 % 60,
        second_of_day % 60
    );
    (format!("{year:04}{month:02}{day:02}"), time)
}

/// A date, or a date and time that begins with a whole date, moved by days; `None` for another text, and for a date that
/// leaves the years 1 to 9999.
pub fn shifted(text: &str, days: i32) -> Option<String> {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    // Dates of ACR-NEMA have points between.
    let plain = match text.as_bytes() {
        [_, _, _, _, b'.', _, _, b'.', _, _] => text.replace('.', ""),
        _ => text.to_owned(),
    };
    let (date, time) = plain.split_at_checked(8)?;
    if !date.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (year, month, day) = (
        number_in(0..4, date)?,
        number_in(4..6, date)?,
        number_in(6..8, date)?,
    );
    let count = days_of(year, month, day);
    if civil(count) != (year, month, day) {
        return None;
    }
    let (year, month, day) = civil(count + i64::from(days));
    (1..=9999)
        .contains(&year)
        .then(|| format!("{year:04}{month:02}{day:02}{time}"))
}

fn number_in(range: std::ops::Range<usize>, date: &str) -> Option<i64> {
    date[range].parse::<i64>().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Dates by the calendar.
    #[test]
    fn dates_are_those_of_the_calendar() {
        check_date_time(0, "19700101", "000000");
        check_date_time(951_827_696, "20000229", "123456");
        check_date_time(1_767_225_599, "20251231", "235959");
        check_date_time(4_107_542_400, "21000301", "000000");
    }

    fn check_date_time(seconds: u64, date: &str, time: &str) {
        assert_eq!(date_time(seconds), (date.into(), time.into()))
    }

    #[test]
    fn dates_move_by_days() {
        check_shifted("20240228", 1, Some("20240229"));
        check_shifted("20230228", 1, Some("20230301"));
        check_shifted("20000301", -1, Some("20000229"));
        check_shifted("19000301", -1, Some("19000228"));
        check_shifted("1999.12.31", 1, Some("20000101"));
        check_shifted("20240101123456.5+0100", -365, Some("20230101123456.5+0100"));
        check_shifted("19700101", -20_000, Some("19150331"));
        for odd in [
            "", "2024", "20240230", "20241301", "2024010x", "tomorrow", "99991231",
        ] {
            check_shifted(odd, 1, None);
        }
    }

    fn check_shifted(text: &str, days: i32, wanted: Option<&str>) {
        assert_eq!(shifted(text, days).as_deref(), wanted)
    }
}
