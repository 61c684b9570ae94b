/** Vite's server passes these on to a Holdfast server, so page and server have one origin. */
const { HOLDFAST_URL: target = 'http://127.0.0.1:4321' } = process.env

export const throughHoldfast = {
  '/api': { target },
  '/broadcasting': { target },
  '/app': { target, ws: true },
}
