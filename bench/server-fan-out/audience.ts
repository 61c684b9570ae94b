/** Opens sockets that subscribe to one channel, and tells its parent each time that all of them have heard. */
import { WebSocket } from 'ws'

const [port, count, channel] = process.argv.slice(2)
const sockets = Number(count)
const IN_PARALLEL = 100

let heard = 0
const onFrame = () => {
  if (++heard % sockets === 0) process.send?.('heard')
}

/** Resolves when the server has answered the subscription. */
function join(): Promise<void> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}/app/bench?protocol=7`, { perMessageDeflate: false })
  socket.on('open', () => socket.send(JSON.stringify({ event: 'pusher:subscribe', data: { channel } })))
  return new Promise((resolve, reject) => {
    socket.on('error', reject)
    socket.on('message', function greeting(text) {
      if (String(text).includes('connection_established')) return
      socket.off('message', greeting)
      socket.on('message', onFrame)
      resolve()
    })
  })
}

process.on('disconnect', () => process.exit())
for (let opened = 0; opened < sockets; opened += IN_PARALLEL)
  await Promise.all(Array.from({ length: IN_PARALLEL }, join))
process.send?.('ready')
