//! tmp
use super::*;
/// tmp
#[derive(Default)]
pub struct Extractive;
impl Model for Extractive { fn name(&self)->&str{"extractive"} fn call(&self,_:ModelRequest)->Box<dyn ModelStream>{ unreachable!() } }
