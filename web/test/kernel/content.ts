/** On the server's side of the test bed: the page, the video and the collector, over plain TCP. */

import { TestServer } from '../e2e/server.ts';

const [folder = '', host = '', port = ''] = process.argv.slice(2);
const server = await TestServer.start({ '/video/': folder, '/': 'dist' }, host, Number(port));
server.tellAt = '/log';
