//! The names a struct of arguments reads, so that a test can hold them against the schema beside it.

use serde::de::{DeserializeOwned, Deserializer, Error as _, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::Error;
use std::collections::BTreeSet;

/// The fields of `T`; nothing when `T` is no plain struct.
pub(crate) fn fields_of<T: DeserializeOwned>() -> Option<BTreeSet<&'static str>> {
    let mut fields = None;
    // Always an error: the deserializer only listens.
    let _ = T::deserialize(Ear(&mut fields));
    fields
}

/// Hears which fields are asked for.
struct Ear<'a>(&'a mut Option<BTreeSet<&'static str>>);

impl<'de> Deserializer<'de> for Ear<'_> {
    type Error = Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        _visitor: V,
    ) -> Result<V::Value, Error> {
        *self.0 = Some(fields.iter().copied().collect());
        Err(Error::custom("heard"))
    }

    fn deserialize_any<V: Visitor<'de>>(self, _visitor: V) -> Result<V::Value, Error> {
        Err(Error::custom("no struct"))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
