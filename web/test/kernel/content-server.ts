/**
 * Program on the server of the test bed: serves page, video and collector over plain TCP, and with a
 * folder of `key.pem` and `cert.pem` also over HTTPS, on the next port.
 */

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestServer } from '../e2e/test-server.ts';

const [folder = '', host = '', port = '', certificates] = process.argv.slice(2);
const folders = { '/video/': folder, '/': 'dist' };
const server = await TestServer.start(folders, host, Number(port));
server.logPath = '/log';
if (certificates !== undefined) {
  const [key, cert] = await Promise.all(
    ['key.pem', 'cert.pem'].map((name) => readFile(join(certificates, name), 'utf8')),
  );
  await TestServer.start(folders, host, Number(port) + 1, { key: key ?? '', cert: cert ?? '' });
}
