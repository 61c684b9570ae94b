import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryDirectory } from './holdfast.ts'

/** Each part of a secret, before and after a special character. */
const SECRET = 'S3CRET'

/** `PORT`: of a server that denies access. Nobody listens on port 1. */
const ADDRESSES = [
  'redis://:S3CRET@127.0.0.1:1',
  'redis://app:S3CRET#S3CRET@127.0.0.1:1',
  'redis://app:12#S3CRET@127.0.0.1:1',
  'redis://S3CRET@127.0.0.1:PORT',
  'redis://app:S3CRET@127.0.0.1:PORT/0?password=S3CRET',
  'rediss://default:S3CRET',
  'postgres://app:S3CRET/S3CRET@127.0.0.1:1/app',
  'postgres://app:S3CRET?S3CRET@127.0.0.1:1/app',
  'postgres://127.0.0.1:1/app?user=u&password=S3CRET',
  'postgres://127.0.0.1:1/app?user=me@corp&password=S3CRET&S3CRET',
  'postgres://app:%S3CRET@127.0.0.1:1/app',
  'postgres://127.0.0.1:1/app?listen=postgres://app:S3CRET@127.0.0.1:1/app',
  'postgresql:app:S3CRET@127.0.0.1:1/app',
  'mysql://app:S3CRET@S3CRET@127.0.0.1:1/app',
  'mysql://app@127.0.0.1:1/app?password=S3CRET#S3CRET',
  'nats://S3CRET@127.0.0.1:1',
  'nats://app:S3CRET@127.0.0.1:1?token=S3CRET',
  'etcd://root:S3CRET@127.0.0.1:1,127.0.0.1:2',
  'etcd://root:S3CRET#S3CRET@127.0.0.1:1',
  'http://S3CRET@127.0.0.1:1',
  'https://app:S3CRET/S3CRET@127.0.0.1:1?token=S3CRET',
  'mongodb://app:S3CRET@127.0.0.1:1',
  'app:S3CRET@127.0.0.1',
  'file://app:S3CRET@host/locks?password=S3CRET',
]

it('no command prints a secret of an address, whatever is wrong with it', async () => {
  const port = await denyAccess()
  const addresses = ADDRESSES.map((address) => address.replace('PORT', String(port)))
  const child = spawn(process.execPath, [join(import.meta.dirname, 'every-command.ts')], {
    cwd: temporaryDirectory(),
    env: { ...process.env, HOLDFAST_ADDRESSES: JSON.stringify(addresses) },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [lines, errors] = await Promise.all([text(child.stdout), text(child.stderr)])
  const calls = lines
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
  expect(errors).toBe('')
  expect(new Set(calls.map(({ address }) => address))).toEqual(new Set(addresses))
  const leaks = calls.filter(({ printed }) => printed.includes(SECRET))
  expect(leaks).toEqual([])
  // Each has said what is wrong, and none has exited as if it had the answer "no", but for `doctor`.
  for (const call of calls) {
    expect(call.printed, JSON.stringify(call)).not.toBe('')
    expect(call.command === 'doctor' ? [1] : [64, 69, 70], JSON.stringify(call)).toContain(call.code)
  }
})

/** The port of a server that refuses every command of Redis. `ioredis` attaches the command to its error. */
async function denyAccess(): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (sent) =>
      socket.write('-WRONGPASS invalid\r\n'.repeat(String(sent).match(/^\*/gm)?.length ?? 1)),
    )
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}
