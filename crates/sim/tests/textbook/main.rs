//! The simulator beside the formulas of the textbooks. Each check names its source and says how far the
//! two may differ; randomness is averaged over seeds, which are fixed.

mod alone;
mod bbr;
mod bench;
mod coupled;
mod driven;
mod loss;
mod redundant;
