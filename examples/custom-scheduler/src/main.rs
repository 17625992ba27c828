//! Prints the comparison.

use std::process::ExitCode;

fn main() -> ExitCode {
    match custom_scheduler::comparison() {
        Ok(table) => {
            print!("{table}");
            ExitCode::SUCCESS
        }
        Err(problems) => {
            for problem in problems {
                eprintln!("{problem:?}");
            }
            ExitCode::FAILURE
        }
    }
}
