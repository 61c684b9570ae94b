/** A page as Laravel renders it: its layout has a CSRF token, which Echo sends with every authorization. */
import Echo from 'laravel-echo'
import Pusher from 'pusher-js'

export const scenarios = {
  /** Joins a private and a presence channel of a server on another origin, and hears an event of the room. */
  async join(url: string, key: string, room: string) {
    document.head.insertAdjacentHTML('beforeend', '<meta name="csrf-token" content="a-token-of-laravel">')
    const { hostname, port } = new URL(url)
    const echo = new Echo({
      broadcaster: 'reverb',
      Pusher,
      key,
      wsHost: hostname,
      wsPort: Number(port),
      forceTLS: false,
      enabledTransports: ['ws'],
      authEndpoint: `${url}/broadcasting/auth`,
    })
    const heard = new Promise((resolve) => {
      echo.private(`document.${room}`).listen('.document.locked', resolve)
    })
    const subscribed = (channel: {
      subscribed(on: () => void): unknown
      error(on: (error: unknown) => void): unknown
    }) =>
      new Promise((resolve) => {
        channel.subscribed(() => resolve('subscribed'))
        channel.error((error) => resolve(error))
      })
    const outcomes = await Promise.all([
      subscribed(echo.private(`document.${room}`)),
      subscribed(echo.join(`document.${room}`)),
    ])
    await fetch(`${url}/api/documents/${room}/lock`, {
      method: 'POST',
      credentials: 'include',
      headers: { 'X-CSRF-TOKEN': 'a-token-of-laravel', 'X-Socket-ID': echo.socketId() ?? '' },
    })
    return { outcomes, heard: await heard }
  },
}

Object.assign(globalThis, { scenarios })
