//! `math:*`

use crate::error::Res;
use crate::run::Machine;
use crate::xpath::ast::{Expr, Extension};
use crate::xpath::eval::Context;
use crate::xpath::numbers;
use crate::xpath::value::{NodeSet, Object};

impl<'t> Machine<'t> {
    pub(super) fn math_extension(
        &mut self,
        extension: Extension,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        use Extension as E;
        match extension {
            E::Minimum | E::Maximum | E::Lowest | E::Highest => {
                let nodes = self.nodes(&arguments[0], context)?;
                self.budget.spend(nodes.len() as u64)?;
                let values: Vec<f64> =
                    nodes.iter().map(|node| numbers::parse(&self.string_of(*node))).collect();
                let wanted = if values.is_empty() || values.iter().any(|value| value.is_nan()) {
                    f64::NAN
                } else if matches!(extension, E::Minimum | E::Lowest) {
                    values.iter().copied().fold(f64::INFINITY, f64::min)
                } else {
                    values.iter().copied().fold(f64::NEG_INFINITY, f64::max)
                };
                if matches!(extension, E::Minimum | E::Maximum) {
                    return Ok(Object::Number(wanted));
                }
                let best: Vec<_> = nodes
                    .iter()
                    .zip(&values)
                    .filter(|(_, value)| **value == wanted)
                    .map(|(node, _)| *node)
                    .collect();
                return Ok(Object::Nodes(NodeSet::sorted(best)));
            }
            E::Random => return Ok(Object::Number(self.next_random())),
            E::Constant => {
                let name = self.string(&arguments[0], context)?;
                let digits = self.number(&arguments[1], context)?;
                return Ok(Object::Number(constant(&name, digits)));
            }
            _ => {}
        }
        let first = self.number(&arguments[0], context)?;
        Ok(Object::Number(match extension {
            E::Absolute => first.abs(),
            E::SquareRoot => first.sqrt(),
            E::Logarithm => first.ln(),
            E::Exponential => first.exp(),
            E::Sine => first.sin(),
            E::Cosine => first.cos(),
            E::Tangent => first.tan(),
            E::ArcSine => first.asin(),
            E::ArcCosine => first.acos(),
            E::ArcTangent => first.atan(),
            E::ArcTangent2 => first.atan2(self.number(&arguments[1], context)?),
            E::Power => first.powf(self.number(&arguments[1], context)?),
            _ => f64::NAN,
        }))
    }

    /// A number from 0 to 1; the same row in each transformation, so that results can be compared.
    fn next_random(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }
}

fn constant(name: &str, digits: f64) -> f64 {
    let text = match name {
        "PI" => "3.1415926535897932384626433832795028841971693993751",
        "E" => "2.71828182845904523536028747135266249775724709369996",
        "SQRRT2" => "1.41421356237309504880168872420969807856967187537694",
        "LN2" => "0.69314718055994530941723212145817656807550013436025",
        "LN10" => "2.302585092994045684017991454684364207601101488628772",
        "LOG2E" => "1.4426950408889634073599246810018921374266459541529859",
        "SQRT1_2" => "0.70710678118654752440084436210484903928483593768847",
        _ => return f64::NAN,
    };
    if digits.is_nan() || digits < 1.0 {
        return f64::NAN;
    }
    numbers::parse(&text[..text.len().min(digits.min(100.0) as usize + 1)])
}
