/** Registration of the service worker, which keeps the page's own files for use offline. */

/** Wait for a session to begin before the files are fetched a second time (ms). */
const QUIET_MS = 3_000;

/**
 * Registers the worker when no session is running, so that its download disturbs no measurement.
 *
 * @param isBusy returns true while a session is running
 */
export function registerWorker(isBusy: () => boolean): void {
  // Only secure origins have workers; a page in a frame is not the installed one.
  const workers = navigator.serviceWorker as ServiceWorkerContainer | undefined;
  if (workers === undefined || window.top !== window) return;
  const timer = setInterval(() => {
    if (isBusy()) return;
    clearInterval(timer);
    workers.register('service-worker.js', { updateViaCache: 'none' }).then(
      (registration) => {
        // An installed page may stay open for days.
        document.addEventListener('visibilitychange', () => {
          if (document.visibilityState === 'visible' && !isBusy()) registration.update().catch(() => {});
        });
      },
      () => {
        // Without storage, or from a server without the file, the page works online only.
      },
    );
  }, QUIET_MS);
}
