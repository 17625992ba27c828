/** Texts of a record, in the UTF-16 of the browser. */

/**
 * Cuts a text to a number of UTF-16 units, between characters. Halves of surrogate pairs, as in
 * damaged titles, become U+FFFD: a JSON document with them is invalid.
 */
export function shorten(text: string, max: number): string {
  const isCutInPair = /[\ud800-\udbff]/.test(text.charAt(max - 1)) && /[\udc00-\udfff]/.test(text.charAt(max));
  return text.slice(0, isCutInPair ? max - 1 : max).replace(/\p{Surrogate}/gu, '\ufffd');
}
