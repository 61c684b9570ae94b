import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TaskHandler } from '../../src/once/index.ts'
import type { WorkerMessage } from './worker-processes.ts'

/** Serves the handler of a worker process on a free port, and reports that port. */
export function serveTasks(handle: TaskHandler): void {
  const server = createServer(async (incoming, outgoing) => {
    const response = await handle(await requestOf(incoming))
    outgoing.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text())
  })
  server.listen(0, '127.0.0.1', () => report({ type: 'ready', port: (server.address() as AddressInfo).port }))
}

async function requestOf(incoming: IncomingMessage): Promise<Request> {
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk)
  const body = Buffer.concat(chunks)
  return new Request(`http://localhost${incoming.url}`, { method: incoming.method ?? 'GET', body })
}

/** Resolves when the message was sent. */
export function report(message: WorkerMessage): Promise<void> {
  return new Promise((resolve) => process.send?.(message, () => resolve()))
}
