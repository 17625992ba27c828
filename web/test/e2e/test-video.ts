/** DASH video of ffmpeg's test pattern, encoded once and cached in web/.cache. */

import { execFile, execFileSync } from 'node:child_process';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const CACHE = join(process.cwd(), '.cache');

/** Encoding parameters. */
export interface VideoOptions {
  readonly seconds: number;
  readonly segmentSeconds: number;
  readonly fps: number;
  /** Bitrates in ascending order (kbit/s). */
  readonly kbps: readonly number[];
  readonly audio: boolean;
  /** Width and height; 320x180 by default. */
  readonly size?: string;
}

export const hasFfmpeg = (() => {
  try {
    execFileSync('ffmpeg', ['-version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();

/** Returns a folder with `manifest.mpd`, and `whole.mp4` with the highest bitrate. */
export async function testVideo(options: VideoOptions): Promise<string> {
  const { seconds, segmentSeconds, fps, kbps, audio, size = '320x180' } = options;
  const name = `v1-${size}-${seconds}s-${segmentSeconds}s-${fps}fps-${kbps.join('-')}${audio ? '-audio' : ''}`;
  const folder = join(CACHE, name);
  const exists = await access(folder).then(
    () => true,
    () => false,
  );
  if (exists) return folder;
  const temporary = `${folder}.${process.pid}`;
  await rm(temporary, { recursive: true, force: true });
  await mkdir(temporary, { recursive: true });
  const pattern = `testsrc2=size=${size}:rate=${fps}:duration=${seconds}`;
  const inputs = ['-f', 'lavfi', '-i', pattern];
  if (audio) inputs.push('-f', 'lavfi', '-i', `sine=frequency=220:duration=${seconds}`);
  const maps = kbps.flatMap(() => ['-map', '0:v']);
  const rates = kbps.flatMap((rate, index) => [
    ...[`-b:v:${index}`, `${rate}k`],
    ...[`-maxrate:v:${index}`, `${rate}k`, `-bufsize:v:${index}`, `${rate}k`],
  ]);
  const group = String(fps * segmentSeconds);
  const encoder = ['-c:v', 'libx264', '-preset', 'ultrafast', '-tune', 'zerolatency', '-pix_fmt', 'yuv420p'];
  const dash = ['-f', 'dash', '-seg_duration', String(segmentSeconds), '-use_template', '1', '-use_timeline', '0'];
  const sets = audio ? 'id=0,streams=v id=1,streams=a' : 'id=0,streams=v';
  const run = promisify(execFile);
  await run('ffmpeg', [
    ...['-v', 'error', '-nostdin', ...inputs, ...maps, ...(audio ? ['-map', '1:a'] : [])],
    ...[...encoder, ...rates, '-g', group, '-keyint_min', group, '-sc_threshold', '0'],
    ...(audio ? ['-c:a', 'aac', '-b:a', '64k'] : []),
    ...[...dash, '-adaptation_sets', sets, join(temporary, 'manifest.mpd')],
  ]);
  await run('ffmpeg', [
    ...['-v', 'error', '-nostdin', ...inputs, '-map', '0:v', ...(audio ? ['-map', '1:a', '-c:a', 'aac'] : [])],
    ...[...encoder, '-b:v', `${kbps.at(-1)}k`, '-g', group, '-movflags', '+faststart', join(temporary, 'whole.mp4')],
  ]);
  await rename(temporary, folder).catch(async (error: unknown) => {
    // Another test process finished the same video first.
    await access(folder).catch(() => {
      throw error;
    });
    await rm(temporary, { recursive: true, force: true });
  });
  return folder;
}
