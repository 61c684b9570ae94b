import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { holdfast, temporaryDirectory } from './holdfast.ts'
import { callsWithStore } from './shortest-calls.ts'
import { postgresRefusal } from './wrong-servers.ts'

const calls = await callsWithStore()

describe('an error is one line with a remedy:', () => {
  it.each([
    ['an unknown command', ['lst'], 64, /unknown command "lst", did you mean `ls`\?/],
    ['a misspelt command', ['rnu', 'job', '--', 'true'], 64, /unknown command "rnu", did you mean `run`\?/],
    ['a word like no command', ['frobnicate'], 64, /unknown command "frobnicate", expected one of run, ls, /],
    ['no command at all', ['xyz'], 64, /unknown command "xyz", expected one of run, ls, /],
    [
      'a misspelt flag',
      ['ls', '--stroe'],
      64,
      /nknown option '--stroe', did you mean --store\? holdfast ls --h/,
    ],
    ['an unknown flag', ['ls', '--xyz'], 64, /nknown option '--xyz'; holdfast ls --help/],
    ['a TTL without a unit', ['run', '--ttl', '5', 'job', '--', 'true'], 64, /--ttl: .* did you mean 5s\?/],
    [
      'a setting by its old name',
      ['serve', '--open-telemetry', 'true'],
      64,
      /--open-telemetry: this flag is now called --accept-telemetry/,
    ],
    ['a setting without a unit', ['serve', '--ttl', '5'], 64, /--ttl: .* did you mean 5s\?/],
    ['a flag without its value', ['ls', '--store'], 64, /--store .*argument missing; holdfast ls --help/],
    ['a missing argument', ['inspect'], 64, /expected 1 argument, got 0; usage: holdfast inspect /],
    [
      'too many arguments',
      ['inspect', 'a', 'b'],
      64,
      /unexpected argument "b": expected 1 argument, got 2; usage: /,
    ],
    ['an argument that the command does not take', ['serve', 'x'], 64, /"x": expected no arguments, got 1; /],
    ['an optional argument twice', ['ls', 'a', 'b'], 64, /"b": expected at most 1 argument, got 2; /],
    ['no argument where several are possible', ['monitor'], 64, /expected at least 1 argument, got 0; /],
    ['a command without --', ['run', 'job', 'make'], 64, /expected -- before the command to run; usage: /],
    ['no command', ['run', 'job', '--'], 64, /expected a command to run after --, got none; usage: /],
    [
      'a wrong duration',
      ['run', '--ttl', '5 miles', 'job', '--', 'true'],
      64,
      /--ttl: .* such as 500ms, 30s or 5m/,
    ],
    [
      'a TTL that is too short',
      ['run', '--ttl', '1ms', 'job', '--', 'true'],
      64,
      /--ttl: expected at least 10ms, got 1ms/,
    ],
    [
      'a TTL that is too long',
      ['run', '--ttl', '100d', 'job', '--', 'true'],
      64,
      /--ttl: expected at most 24d 20h, got 100d/,
    ],
    [
      'a grace that is too long',
      ['run', '--grace', '20s', 'job', '--', 'true'],
      64,
      /--grace: expected at most 12s.*, got 20s; .* a longer --ttl/,
    ],
    [
      'wrong metadata',
      ['run', '-m', 'why', 'job', '--', 'true'],
      64,
      /expected key=value or one JSON object, got "why"/,
    ],
    ['malformed metadata', ['run', '-m', '{why', 'job', '--', 'true'], 64, /one JSON object, got "\{why": /],
    [
      'both ways to wait',
      ['run', '--if-available', '--wait', '1s', 'job', '--', 'true'],
      64,
      /expected --if-available or --wait, got both; /,
    ],
    ['a benchmark of no time', ['bench', '--duration', '0'], 64, /--duration: expected at least 1ms, got 0/],
    ['a wrong limit', ['ls', '--limit', 'none'], 64, /--limit: expected a whole number from 1/],
    [
      'a resource with control characters',
      ['inspect', 'a\nb', '--store', 'file:.'],
      64,
      /resource: expected/,
    ],
    [
      'an unknown store',
      ['ls', '--store', 'mongodb://me:secret@db/x'],
      64,
      /mongodb:\/\/me:…@db\/x is not the address of a store; expected one that begins with sqlite:/,
    ],
    ['a store without a scheme', ['ls', '--store', 'locks'], 64, /locks is not the address of a store/],
    [
      'a malformed URL',
      ['ls', '--store', 'redis://a:b:c'],
      64,
      /is not a valid URL; expected one such as redis:/,
    ],
    [
      'a password with a percent sign',
      ['ls', '--store', 'http://me:50%secret@127.0.0.1:1'],
      64,
      /http:\/\/me:…@127\.0\.0\.1:1 is not a valid URL; /,
    ],
    ['a store without a path', ['ls', '--store', 'file:'], 64, /file: has no path; use an address such as/],
    ['a missing database', ['ls'], 69, /\.\/holdfast\.db does not exist; holdfast run creates it/],
    [
      'an unreachable Redis',
      ['ls', '--store', 'redis://127.0.0.1:1'],
      69,
      /ECONNREFUSED.*; check that it is running/,
    ],
    [
      'an unreachable Postgres',
      ['ls', '--store', 'postgres://127.0.0.1:1/x'],
      69,
      /ECONNREFUSED.*; check that it is running/,
    ],
    [
      'an unreachable NATS',
      ['ls', '--store', 'nats://127.0.0.1:1'],
      69,
      /refused.*; check that it is running/,
    ],
    [
      'a NATS server with an unknown host',
      ['ls', '--store', 'nats://no.invalid'],
      69,
      /; check the name of the host/,
    ],
    [
      'a run without a server',
      ['run', '--store', 'redis://127.0.0.1:1', 'job', '--', 'true'],
      69,
      /check that it is running/,
    ],
    [
      'a missing configuration',
      ['ls', '--config', 'none.toml'],
      64,
      /none\.toml cannot be used: there is no such file/,
    ],
    ['a release without force', ['release', 'job'], 64, /--force ends it/],
    ['a release without confirmation', ['release', '--force', 'job'], 64, /confirm with --yes/],
    ['a shell without completion', ['completion', 'tcsh'], 64, /expected one of bash, zsh, fish/],
  ])('%s', async (_, args, code, message) => {
    const ended = await holdfast(args, { cwd: temporaryDirectory() })
    expect(ended).toMatchObject({ code, stdout: '' })
    expect(ended.stderr).toMatch(/^holdfast: [^\n]+\n$/)
    expect(ended.stderr).toMatch(message)
    expect(ended.stderr).not.toContain('secret')
  })

  it('a misspelt variable', async () => {
    const env = { HOLDFAST_STROE: 'redis://db' }
    expect(await holdfast(['run', 'job', '--', 'true'], { cwd: temporaryDirectory(), env })).toEqual({
      code: 64,
      stdout: '',
      stderr: 'holdfast: HOLDFAST_STROE: unknown variable, did you mean HOLDFAST_STORE?\n',
    })
  })

  it('a corrupt database', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'holdfast.db'), 'this file is not a database'.repeat(100))
    for (const args of [['ls'], ['run', 'job', '--', 'true']])
      expect(await holdfast(args, { cwd })).toMatchObject({
        code: 70,
        stderr: expect.stringMatching(
          /^holdfast: .*not a database; name another file, or restore this one\n$/,
        ),
      })
  })

  it('a server that is not a Holdfast server', async () => {
    const server = createHttpServer((_, response) => {
      response.writeHead(404).end(JSON.stringify({ message: 'there is no room 403' }))
    })
    onTestFinished(() => void server.close())
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    expect(await holdfast(['ls', '--store', `http://127.0.0.1:${port}`])).toMatchObject({
      code: 70,
      stderr: `holdfast: http://127.0.0.1:${port}: the server answered 404: there is no room 403\n`,
    })
  })

  it.each([
    ['redis', 'NOAUTH', '-NOAUTH HELLO must be called with the client already authenticated\r\n'],
    ['redis', 'WRONGPASS', '-WRONGPASS invalid username-password pair or user is disabled.\r\n'],
    ['redis', 'ERR invalid password', '-ERR invalid password\r\n'],
    [
      'nats',
      'Authorization Violation',
      `-ERR 'Authorization Violation'\r\n`,
      'INFO {"version":"2.10.0","proto":1,"max_payload":1048576,"auth_required":true}\r\n',
    ],
    [
      'postgres',
      'password authentication failed',
      postgresRefusal('28P01', 'password authentication failed'),
    ],
  ])('a server that denies access: %s, %s', async (scheme, reason, refusal, greeting = '') => {
    const server = createServer((socket) => {
      socket.on('error', () => {})
      // Clients of Redis send several commands at once, each of which begins with a star.
      socket.on('data', (sent) => socket.write(refusal.repeat(String(sent).match(/^\*/gm)?.length ?? 1)))
      socket.write(greeting)
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await once(server, 'listening')
    const store = `${scheme}://me:secret@127.0.0.1:${(server.address() as AddressInfo).port}`
    const [{ code, stderr }, doctor] = await Promise.all([
      holdfast(['ls', '--store', store]),
      holdfast(['doctor', store]),
    ])
    expect(stderr).toMatch(
      /^holdfast: [^\n]+ does not let you in [^\n]+; check the user and the password[^\n]+\n$/,
    )
    expect(stderr).toContain(`(${reason})`)
    expect(code).toBe(70)
    expect(doctor.stdout).toMatch(
      /✓ reachable .*\n {2}✗ access .* does not let you in .*\n +→ check the user and the/,
    )
    expect(doctor.code).toBe(1)
    expect(stderr + doctor.stdout).not.toContain('secret')
  })

  it('a server that does not answer', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as { port: number }
    const ended = await holdfast(['ls', '--store', `redis://127.0.0.1:${port}`])
    expect(ended).toMatchObject({
      code: 69,
      stderr: expect.stringMatching(/gave no answer within 5000 ms; check that Redis listens there/),
    })
  })

  it('an error has a stack with --debug, and is a line of JSON with --json', async () => {
    const options = { cwd: temporaryDirectory() }
    const [debug, json] = await Promise.all([
      holdfast(['ls', '--debug', '--limit', '0'], options),
      holdfast(['ls', '--json', '--limit', '0'], options),
    ])
    expect(debug.stderr).toMatch(/\n +at /)
    expect(JSON.parse(json.stderr)).toEqual({ error: { message: expect.any(String), exitCode: 64 } })
  })
})

describe('settings', () => {
  it('settings come from the flag, else from the environment, else from the file', async () => {
    const cwd = temporaryDirectory()
    for (const name of ['by-flag', 'by-env', 'by-file']) {
      mkdirSync(join(cwd, name))
      await holdfast(['run', '--store', `file:${join(cwd, name)}`, '--owner', name, 'job', '--', 'true'])
    }
    writeFileSync(join(cwd, 'holdfast.toml'), 'store = "file:./by-file"\nttl = 2000\nport = 8080\n')
    const env = { HOLDFAST_STORE: 'file:./by-env' }
    const storeOf = async (args: readonly string[], env: Record<string, string>) =>
      JSON.parse((await holdfast(['doctor', '--json', ...args], { cwd, env })).stdout).store
    expect(await storeOf(['--store', 'file:./by-flag'], env)).toBe('file:./by-flag')
    expect(await storeOf([], env)).toBe('file:./by-env')
    expect(await storeOf([], {})).toBe('file:./by-file')
  })

  it.each(calls)(
    'settings with an unknown name are refused by %s, because a misspelt store must not mean the default store',
    async (...args) => {
      const cwd = temporaryDirectory()
      writeFileSync(join(cwd, 'holdfast.toml'), 'stroe = "redis://db.internal"\ntll = "1m"\nport = 8080\n')
      expect(await holdfast(args, { cwd })).toEqual({
        code: 64,
        stdout: '',
        stderr:
          'holdfast: `stroe` (holdfast.toml): unknown setting, did you mean `store`?\n' +
          '`tll` (holdfast.toml): unknown setting, did you mean `ttl`?\n',
      })
      expect(readdirSync(cwd)).toEqual(['holdfast.toml'])
    },
  )

  it('settings in a file must be an object', async () => {
    const cwd = temporaryDirectory()
    writeFileSync(join(cwd, 'holdfast.json'), '[]')
    expect(await holdfast(['ls', '--config', 'holdfast.json'], { cwd })).toMatchObject({
      code: 64,
      stderr: 'holdfast: the configuration holdfast.json cannot be used: expected an object\n',
    })
  })
})
