//! Server-sent events the slow way: everything in memory, one rule of the standard per line. What the real parser does
//! in pieces must come to the same.

/// Name and data of each event. An event that the body's end cut off counts, as it does for the real parser.
pub fn events(bytes: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut events = Vec::new();
    let mut name = String::new();
    let mut data: Vec<&str> = Vec::new();
    for line in text.split('\n').chain([""]) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => data.push(value),
            "event" => name = value.to_owned(),
            _ if !line.is_empty() => {}
            _ => {
                if !data.is_empty() {
                    events.push((name, data.join("\n")));
                }
                name = String::new();
                data.clear();
            }
        }
    }
    events
}
