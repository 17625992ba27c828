// Draws the icons of the installed page: the glyph of its icon in a browser's tab, on a square.
import { deflateSync } from 'node:zlib';

const BACKGROUND = [0x1f, 0x5f, 0xa8];
const GLYPH = [0xff, 0xff, 0xff];
/** Rectangles of the glyph in a square of 16: left, top, right, bottom. */
const RECTANGLES = [
  [2, 11, 14, 13],
  [7, 3, 9, 11],
];
/** Samples of a pixel in each direction. */
const SAMPLES = 4;

/**
 * Returns an icon as PNG.
 *
 * @param {number} size width and height in pixels
 * @param {boolean} maskable fills the square, and keeps the glyph in the circle that every mask shows
 */
export function icon(size, maskable) {
  const scale = maskable ? 0.62 : 0.86;
  const radius = maskable ? 0 : 3;
  const pixels = Buffer.alloc(size * (size * 4 + 1));
  for (let y = 0; y < size; y++) {
    for (let x = 0; x < size; x++) {
      let [inside, glyph] = [0, 0];
      for (let sample = 0; sample < SAMPLES * SAMPLES; sample++) {
        const u = ((x + ((sample % SAMPLES) + 0.5) / SAMPLES) / size) * 16;
        const v = ((y + (Math.floor(sample / SAMPLES) + 0.5) / SAMPLES) / size) * 16;
        if (!inRoundedSquare(u, v, radius)) continue;
        inside++;
        if (inGlyph((u - 8) / scale + 8, (v - 8) / scale + 8)) glyph++;
      }
      const share = inside === 0 ? 0 : glyph / inside;
      const colour = BACKGROUND.map((from, index) => Math.round(from + (GLYPH[index] - from) * share));
      // Each line of a PNG begins with its filter, 0.
      const at = y * (size * 4 + 1) + 1 + x * 4;
      pixels.set([...colour, Math.round((255 * inside) / SAMPLES ** 2)], at);
    }
  }
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 6, 0, 0, 0]);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1');
  const data = deflateSync(pixels, { level: 9 });
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))]);
}

function inRoundedSquare(u, v, radius) {
  const [dx, dy] = [u, v].map((value) => Math.max(radius - value, value - (16 - radius), 0));
  return dx * dx + dy * dy <= radius * radius || radius === 0;
}

function inGlyph(u, v) {
  return RECTANGLES.some(([left, top, right, bottom]) => u >= left && u < right && v >= top && v < bottom);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data]);
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  check.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, check]);
}

/** CRC-32 of ISO 3309, as a PNG requires. */
function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
