//! When a file was changed, in the two ways a zip file says it: to the second, and for old programs to two seconds and in
//! local time.

use jiff::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;
use std::io::Read;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use zip::extra_fields::ExtraField;
use zip::read::ZipFile;
use zip::result::ZipResult;
use zip::write::FullFileOptions;

const EXTENDED_TIMESTAMP: u16 = 0x5455;
const ONLY_MODIFIED: u8 = 1;

pub(super) type Options = FullFileOptions<'static, 'static>;

/// Options that say when a file was changed.
pub(super) fn stamped(options: Options, modified: SystemTime) -> ZipResult<Options> {
    let mut options = match local(modified) {
        Some(time) => options.last_modified_time(time),
        None => options,
    };
    let seconds = modified.duration_since(UNIX_EPOCH).ok().and_then(|since| u32::try_from(since.as_secs()).ok());
    if let Some(seconds) = seconds {
        let [a, b, c, d] = seconds.to_le_bytes();
        options.add_extra_field(EXTENDED_TIMESTAMP, [ONLY_MODIFIED, a, b, c, d], false)?;
    }
    Ok(options)
}

fn local(time: SystemTime) -> Option<zip::DateTime> {
    let time = Timestamp::try_from(time).ok()?.to_zoned(TimeZone::system());
    let part = |part: i8| u8::try_from(part).ok();
    zip::DateTime::from_date_and_time(
        u16::try_from(time.year()).ok()?,
        part(time.month())?,
        part(time.day())?,
        part(time.hour())?,
        part(time.minute())?,
        part(time.second())?,
    )
    .ok()
}

/// When an entry of an archive was changed, if it says so.
pub(super) fn of_entry<R: Read>(entry: &ZipFile<'_, R>) -> Option<SystemTime> {
    let exact = entry.extra_data_fields().find_map(|field| match field {
        ExtraField::ExtendedTimestamp(times) => times.mod_time(),
        _ => None,
    });
    match exact {
        Some(seconds) => Some(UNIX_EPOCH + Duration::from_secs(seconds.into())),
        None => entry.last_modified().and_then(of_local),
    }
}

fn of_local(time: zip::DateTime) -> Option<SystemTime> {
    let part = |part: u8| i8::try_from(part).ok();
    let year = i16::try_from(time.year()).ok()?;
    let (month, day) = (part(time.month())?, part(time.day())?);
    let (hour, minute, second) = (part(time.hour())?, part(time.minute())?, part(time.second())?);
    let time = civil::DateTime::new(year, month, day, hour, minute, second, 0).ok()?;
    time.to_zoned(TimeZone::system()).ok().map(|time| time.timestamp().into())
}
