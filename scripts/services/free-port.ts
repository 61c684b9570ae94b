import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

const given = new Set<number>()

/**
 * A port on which no program listens, for a server that cannot choose one itself. With offsets, the ports that are
 * higher by these numbers are free too. All are below the range of ports for outgoing connections: while a server
 * restarts, a client that retries could otherwise get the port of the server and connect to itself.
 */
export async function freePort(...offsets: number[]): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000 - Math.max(0, ...offsets))
    if (given.has(port)) continue
    given.add(port)
    const probes = await Promise.all([0, ...offsets].map((offset) => isFree(port + offset)))
    if (probes.every(Boolean)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  const probe = createServer()
  return new Promise((resolve) => {
    probe.once('error', () => resolve(false))
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)))
  })
}
