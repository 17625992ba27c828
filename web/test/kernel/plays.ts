/** What the program on the device says when the video has begun to play. */
export const PLAYS = 'plays';
