//! TOML of which nothing is passed over: the numbers behind those that an array of fixed length takes are an error.

use serde::de::DeserializeOwned;
use toml::de::Error;

/// As `toml::from_str`, which reads `[-50, 0, 50]` as a pair, but refuses what is too much.
///
/// # Errors
/// Errors of `toml`, and arrays that are too long.
pub fn from_toml<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    let read = toml::from_str(text)?;
    surplus_of::<T>(text).map(|()| read)
}

/// Refuses arrays that are too long in a text that has been read with the places of its tables (`toml::Spanned`): `T` is
/// its type without them.
///
/// # Errors
/// As [`from_toml`].
pub fn surplus_of<T: DeserializeOwned>(text: &str) -> Result<(), Error> {
    let table: toml::Table = toml::from_str(text)?;
    toml::Value::Table(table).try_into::<T>().map(|_| ())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_whole_or_not_at_all() {
        type Pairs = std::collections::BTreeMap<String, Vec<[f64; 2]>>;
        assert_eq!(
            from_toml::<Pairs>("x = [[1, 2.5], [3, 4]]").unwrap()["x"],
            [[1.0, 2.5], [3.0, 4.0]]
        );
        for text in [
            "x = [[1, 2, 3]]",
            "x = [[1, 2], [1]]",
            "x = [[1, 2], [1, 2, 3]]",
        ] {
            let why = from_toml::<Pairs>(text).unwrap_err().to_string();
            assert!(why.contains("invalid length"), "{text}: {why}");
        }
    }
}
