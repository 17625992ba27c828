/** Program on the server of the test bed: serves page, video and collector over plain TCP. */

import { TestServer } from '../e2e/test-server.ts';

const [folder = '', host = '', port = ''] = process.argv.slice(2);
const server = await TestServer.start({ '/video/': folder, '/': 'dist' }, host, Number(port));
server.logPath = '/log';
