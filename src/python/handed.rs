//! Doses that are not to be relied on and whose values were handed out: an array has no status, so that a dose made of the same
//! values has to get it back from here.

use case::{Dose, DosePart, DoseStatus, Reservations};
use geometry::Volume;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// All that a dose is worth beside its values.
#[derive(Clone)]
pub struct Standing {
    pub status: DoseStatus,
    pub reservations: Reservations,
    pub part: Option<DosePart>,
}

impl Standing {
    /// Standing of values from outside of which nothing else is known.
    const IMPORTED: Self = Self {
        status: DoseStatus::Imported,
        reservations: Reservations {
            caveats: Vec::new(),
            remarks: Vec::new(),
        },
        part: None,
    };

    /// Standing of the values of a dose, or of values made of them: no better than imported.
    pub fn of(dose: &Dose) -> Self {
        let reservations = Reservations {
            caveats: dose.caveats.clone(),
            remarks: dose.remarks.clone(),
        };
        Self {
            status: DoseStatus::Imported.worst(dose.status),
            reservations,
            part: dose.part,
        }
    }
}

/// The standing of values that were handed out, as long as anybody holds them.
struct Handed {
    gy: Weak<Volume<f32>>,
    standing: Standing,
}

static HANDED: Mutex<Vec<Handed>> = Mutex::new(Vec::new());

/// Notes that the values of a dose leave without its status.
pub fn note(dose: &Dose) {
    if dose.is_reliable() {
        return;
    }
    let mut handed_doses = HANDED.lock().unwrap_or_else(PoisonError::into_inner);
    handed_doses.retain(|handed| handed.gy.strong_count() > 0);
    let gy = Arc::downgrade(&dose.gy);
    if handed_doses.iter().all(|handed| !handed.gy.ptr_eq(&gy)) {
        handed_doses.push(Handed {
            gy,
            standing: Standing::of(dose),
        });
    }
}

/// The standing of a dose of values that come from outside: imported, or what is noted of these values.
pub fn standing_of(gy: &Volume<f32>) -> Standing {
    let handed_doses = HANDED.lock().unwrap_or_else(PoisonError::into_inner);
    let same = handed_doses.iter().find(|handed| {
        handed.gy.upgrade().is_some_and(|values| {
            values.grid().size() == gy.grid().size() && values.data() == gy.data()
        })
    });
    same.map_or(Standing::IMPORTED, |handed| handed.standing.clone())
}
