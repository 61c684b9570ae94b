import { describe, expect, it } from 'vitest'
import { type Browser, serviceBed } from '../../../test/server/service-bed.ts'

const LOCK = '/api/documents/my-room/lock'
interface Line {
  readonly level: string
  readonly status?: number
  readonly request_id?: string
  readonly user?: string
  readonly path?: string
  readonly stack?: string
}

async function linesOf(
  calls: (user: Browser) => Promise<unknown>,
  options: Partial<Parameters<typeof serviceBed>[0]> = {},
): Promise<Line[]> {
  const lines: Line[] = []
  await using bed = await serviceBed({
    ...options,
    log: (level, message, fields) => message === 'request' && lines.push({ level, ...fields }),
  })
  await calls(bed.browser())
  return lines
}

describe('the id of a request', () => {
  const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
  const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`

  it.each<[from: string, headers: Record<string, string>, expected: unknown]>([
    ['X-Request-Id', { 'X-Request-Id': 'abc-1', traceparent }, 'abc-1'],
    ['the trace', { traceparent }, TRACE],
    ['nowhere: it is new', {}, expect.stringMatching(/^[\da-f-]{36}$/)],
    ['the trace, if X-Request-Id is not usable', { 'X-Request-Id': 'a b"c', traceparent }, TRACE],
    [
      'nowhere, if both are not usable',
      { 'X-Request-Id': 'x'.repeat(129), traceparent: `00-${'0'.repeat(32)}-00f067aa0ba902b7-01` },
      expect.stringMatching(/^[\da-f-]{36}$/),
    ],
  ])('comes from %s', async (_, headers, expected) => {
    let answered: string | null = null
    const [line] = await linesOf(async (user) => {
      answered = (await user.call('GET', LOCK, undefined, { headers })).headers.get('x-request-id')
    })
    expect(line?.request_id).toEqual(expected)
    expect(answered).toBe(line?.request_id)
  })

  it('the id of a request is in the answer to a request without a route', async () => {
    const lines = await linesOf(async (user) => {
      const { headers } = await user.call('GET', '/nothing', undefined, {
        headers: { 'X-Request-Id': 'r-9' },
      })
      expect(headers.get('x-request-id')).toBe('r-9')
    })
    expect(lines).toEqual([{ level: 'info', request_id: 'r-9', method: 'GET', route: 'none', status: 404 }])
  })
})

describe('a line of the log', () => {
  it('a line of the log has the public id of the user, as others see it', async () => {
    let shown: unknown
    const [line] = await linesOf(async (user) => {
      shown = (await user.call('POST', LOCK)).body.you.session_id
    })
    expect(line?.user).toBe(shown)
  })

  it('a line of the log names no room', async () => {
    const call = async (user: Browser) => {
      await user.call('POST', LOCK)
      await user.call('PATCH', LOCK)
      await user.call('GET', '/my-room')
    }
    expect(JSON.stringify(await linesOf(call))).not.toContain('my-room')
    const paths = (await linesOf(call, { settings: { logRooms: true } })).map((line) => line.path)
    expect(paths).toEqual([LOCK, LOCK, '/my-room'])
  })

  it('a line of the log is at debug for heartbeats and probes', async () => {
    const lines = await linesOf(async (user) => {
      await user.call('POST', LOCK)
      await user.call('PUT', LOCK)
      for (const probe of ['/healthz', '/readyz', '/metrics']) await user.call('GET', probe)
    })
    expect(lines.map(({ level }) => level)).toEqual(['info', 'debug', 'debug', 'debug', 'debug'])
  })

  it('a line of the log has the stack of a 500 with its causes, and no stack otherwise', async () => {
    const authorize = () => {
      throw new Error('the rule is broken', { cause: new Error('no database') })
    }
    const [failed] = await linesOf((user) => user.call('POST', LOCK), { authorize })
    expect(failed).toMatchObject({ level: 'error', status: 500, error: 'Error: the rule is broken' })
    expect(failed?.stack).toMatch(/request-log\.test\.ts[\s\S]*caused by: Error: no database/)
    const [refused] = await linesOf((user) => user.call('POST', '/api/documents/%00/lock'))
    expect(refused).not.toHaveProperty('stack')
  })
})
