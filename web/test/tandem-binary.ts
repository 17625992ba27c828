/** Debug build of the program `tandem`, from `cargo test` or `cargo build -p tandem-cli`. */

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';

export const TANDEM = resolve(process.env.CARGO_TARGET_DIR ?? '../target', 'debug/tandem');
export const hasTandem = existsSync(TANDEM);
