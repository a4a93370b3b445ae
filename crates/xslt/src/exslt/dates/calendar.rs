//! The Gregorian calendar, also before it was there.

/// A year, a month and a day.
pub(super) type Date = (i64, u32, u32);

pub(super) fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

pub(super) fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since the start of 1970.
pub(super) fn days((year, month, day): Date) -> i64 {
    // Years start in March here, so that the leap day is the last.
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let month_from_march = i64::from((month + 9) % 12);
    let day_of_year = (153 * month_from_march + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The date so many days after the start of 1970.
pub(super) fn date(days: i64) -> Date {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * month_from_march + 2) / 5 + 1) as u32;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 } as u32;
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// 0 is Sunday.
pub(super) fn day_in_week(date: Date) -> u32 {
    (days(date) + 4).rem_euclid(7) as u32
}

pub(super) fn day_in_year(date: Date) -> u32 {
    (days(date) - days((date.0, 1, 1)) + 1) as u32
}

/// The week as ISO 8601 counts them: the first has the year's first Thursday.
pub(super) fn week_in_year(date: Date) -> u32 {
    let monday_based = i64::from((day_in_week(date) + 6) % 7);
    let thursday = self::date(days(date) - monday_based + 3);
    (day_in_year(thursday) - 1) / 7 + 1
}
