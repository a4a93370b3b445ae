//! Attribute sets.

use super::Machine;
use crate::error::{Res, run_error};
use crate::xpath::eval::Context;

impl<'t> Machine<'t> {
    /// Adds the attributes of some sets to the element just opened. They see only global variables.
    pub(super) fn use_sets(&mut self, sets: &'t [u32], context: &Context) -> Res<()> {
        for number in sets {
            let set = &self.world.program.attribute_sets[*number as usize];
            if self.active_sets.contains(number) {
                return Err(run_error(format!("the attribute set `{}` uses itself", set.label)));
            }
            self.active_sets.push(*number);
            let done = self.deeper(|machine| {
                for part in &set.parts {
                    machine.use_sets(&part.sets, context)?;
                    machine.with_frame(part.slots, |machine| machine.body(&part.body, context))?;
                }
                Ok(())
            });
            self.active_sets.pop();
            done?;
        }
        Ok(())
    }
}
