import { useSyncExternalStore } from 'react'

/**
 * Cuts this window off from the server, as a pulled cable would: no heartbeat, save or event gets through. The page
 * offers it to show what happens then. Call `installPlug` before anything uses the network.
 */
const listeners = new Set<() => void>()
const sockets = new Set<WebSocket>()
let isPlugged = true

export function installPlug(): void {
  const { fetch: send, WebSocket: Socket } = globalThis
  globalThis.fetch = (...request) =>
    isPlugged ? send(...request) : Promise.reject(new TypeError('the plug of this window is pulled'))
  globalThis.WebSocket = class extends Socket {
    constructor(url: string | URL, protocols?: string | string[]) {
      super(url, protocols)
      sockets.add(this)
      this.addEventListener('close', () => sockets.delete(this))
      if (!isPlugged) this.close()
    }
  }
}

export function setPlugged(plugged: boolean): void {
  if (plugged === isPlugged) return
  isPlugged = plugged
  if (!plugged) for (const socket of sockets) socket.close()
  // What the browser tells a page when its network goes and comes.
  dispatchEvent(new Event(plugged ? 'online' : 'offline'))
  for (const listener of listeners) listener()
}

export function usePlugged(): boolean {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => isPlugged,
  )
}
