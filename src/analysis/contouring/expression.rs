//! Structures by expression: unions, differences, intersections, margins and rings of drawn ones.

use super::super::body::{body_from_ct, body_of};
use super::around::lungs;
use super::{ContouringError, MadeContours, OperationContext};
use case::{Combination, Ct, Structure, StructureExpression, StructureSet};
use engine::JobControl;
use geometry::polygons::Boolean;
use geometry::{Plane, Stack};
use glam::DVec3;

/// Contours of an expression, on the planes of the CT.
///
/// # Errors
/// [`ContouringError`]: a name that no structure has, a structure without contours, nothing left.
pub fn contours_of_expression(
    ct: &Ct,
    set: &StructureSet,
    expression: &StructureExpression,
    control: &JobControl,
) -> Result<MadeContours, ContouringError> {
    let context = OperationContext::new(ct, control);
    let planes = context.planes_of(set, expression)?;
    context.finished(planes, || ContouringError::Nothing(expression.to_string()))
}

impl OperationContext<'_> {
    fn planes_of(
        &self,
        set: &StructureSet,
        expression: &StructureExpression,
    ) -> Result<Vec<Plane>, ContouringError> {
        match expression {
            // On the planes of the CT, as all others: the slab of each contour plane stands for it.
            StructureExpression::Named(_)
            | StructureExpression::Body
            | StructureExpression::Lungs => {
                let stack = self.stack_of(set, expression)?;
                self.combined(&stack, &stack, Boolean::Union)
            }
            StructureExpression::Skin { mm } => {
                let body = self.stack_of(set, &StructureExpression::Body)?;
                let inner = self.restacked(&self.with_margin(&body, false, [*mm; 6])?)?;
                self.combined(&body, &inner, Boolean::Difference)
            }
            StructureExpression::Combined { left, how, right } => {
                let how = match how {
                    Combination::Union => Boolean::Union,
                    Combination::Difference => Boolean::Difference,
                    Combination::Intersection => Boolean::Intersection,
                };
                self.combined(&self.stack_of(set, left)?, &self.stack_of(set, right)?, how)
            }
            StructureExpression::Margin { inner, mm } => {
                let stack = self.stack_of(set, inner)?;
                if stack.is_empty() {
                    return Ok(Vec::new());
                }
                self.with_margin(&stack, *mm > 0.0, [mm.abs(); 6])
            }
            StructureExpression::Ring { inner, mm } => {
                let stack = self.stack_of(set, inner)?;
                if stack.is_empty() {
                    return Ok(Vec::new());
                }
                let [from, to] = mm.map(|mm| self.with_margin(&stack, true, [mm; 6]));
                self.combined(
                    &self.restacked(&to?)?,
                    &self.restacked(&from?)?,
                    Boolean::Difference,
                )
            }
        }
    }

    /// Stack of an expression; empty where nothing is left.
    fn stack_of(
        &self,
        set: &StructureSet,
        expression: &StructureExpression,
    ) -> Result<Stack, ContouringError> {
        match expression {
            StructureExpression::Named(name) => {
                let structure = set
                    .by_name(name)
                    .ok_or_else(|| ContouringError::Unknown(name.clone()))?;
                Ok(self.stack(set, structure.number)?.1)
            }
            StructureExpression::Lungs => match lungs(set).ok_or(ContouringError::NoLungs)? {
                (both, None) => Ok(self.stack(set, both)?.1),
                (left, Some(right)) => {
                    let [left, right] = [left, right].map(|number| self.stack(set, number));
                    self.restacked(&self.combined(&left?.1, &right?.1, Boolean::Union)?)
                }
            },
            StructureExpression::Body => match body_of(set) {
                Some(drawn) => Ok(self.stack(set, drawn.number)?.1),
                None => self.stack_of_found(set),
            },
            _ => self.restacked(&self.planes_of(set, expression)?),
        }
    }

    /// The body found in the CT.
    fn stack_of_found(&self, set: &StructureSet) -> Result<Stack, ContouringError> {
        let outline = body_from_ct(self.ct, set, self.control);
        let (body, _) = outline
            .map_err(|_| ContouringError::Cancelled)?
            .ok_or(ContouringError::NoBody)?;
        self.stack_of_contours(&body)
    }

    pub(super) fn stack_of_contours(
        &self,
        structure: &Structure,
    ) -> Result<Stack, ContouringError> {
        let contours: Vec<&[DVec3]> = structure
            .contours
            .iter()
            .map(|c| c.points_mm.as_slice())
            .collect();
        Stack::new(self.grid, &contours).map_err(|e| self.refused(&structure.name, e))
    }
}
