/** Line printed by the program on the device when playback has started. */
export const PLAYING = 'playing';
