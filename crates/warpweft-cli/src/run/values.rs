//! JSON values in readable form.

use serde_json::{Map, Value};

/// `name value, ..`.
pub fn listed(object: &Map<String, Value>) -> String {
    let parts: Vec<_> =
        object.iter().map(|(name, value)| format!("{name} {}", bare(value))).collect();
    parts.join(", ")
}

/// A JSON value without quotes; numbers with at most seven digits, three where they need a power of
/// ten.
pub fn bare(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(bare).collect::<Vec<_>>().join("x"),
        Value::Number(number) if number.is_f64() => {
            let value = number.as_f64().unwrap_or(f64::NAN);
            if value == 0.0 || (1e-4..1e9).contains(&value.abs()) {
                format!("{}", format!("{value:.6e}").parse::<f64>().unwrap_or(value))
            } else {
                format!("{value:.2e}")
            }
        }
        Value::Object(object) => format!("({})", listed(object)),
        Value::Null => "none".into(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_are_short_whatever_their_size() {
        let cases = [
            (json!(0.0), "0"),
            (json!(1.788661e-21), "1.79e-21"),
            (json!(-0.25), "-0.25"),
            (json!(0.931_648_123), "0.9316481"),
            (json!(1.5e300), "1.50e300"),
            (json!(12_345_678_901_u64), "12345678901"),
            (json!([256, 128]), "256x128"),
            (json!(f64::NAN), "none"),
            (json!({"threads": 2, "warps": 4}), "(threads 2, warps 4)"),
        ];
        for (value, expect) in cases {
            assert_eq!(bare(&value), expect);
        }
    }
}
