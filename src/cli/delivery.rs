//! Deliveries of maps, by the words that planners have for them.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use files::Delivery;
use results::technique_of;
use sequence::Technique;

/// Parser of any delivery.
pub fn any() -> impl TypedValueParser<Value = Delivery> {
    among(Delivery::ALL)
}

/// Parser of the techniques by which static beams are delivered.
pub fn of_static_beams() -> impl TypedValueParser<Value = Technique> {
    let deliveries = among([Delivery::Imrt, Delivery::Step, Delivery::Few]);
    deliveries.try_map(|delivery| technique_of(delivery).ok_or("maps are no leaves"))
}

fn among<const N: usize>(offered: [Delivery; N]) -> impl TypedValueParser<Value = Delivery> {
    let words = PossibleValuesParser::new(offered.map(Delivery::word));
    words.try_map(move |word| {
        let mut offered = offered.into_iter();
        offered
            .find(|delivery| delivery.word() == word)
            .ok_or("there is no such delivery")
    })
}
