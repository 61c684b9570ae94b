import { describe, expect, it } from 'vitest'
import { ORIGIN, serviceBed } from '../../../test/server/service-bed.ts'

/** `X-Forwarded-For` and the address of the connection. */
type Asked = readonly [forwarded: string | null, connection: string, status: number]

const CASES: readonly (readonly [who: string, trustProxy: boolean, asked: readonly Asked[]])[] = [
  [
    'connections, whatever X-Forwarded-For says',
    false,
    [
      ['1.1.1.1', '10.0.0.1', 200],
      ['2.2.2.2', '10.0.0.1', 429],
      ['1.1.1.1', '10.0.0.2', 200],
    ],
  ],
  [
    'with trustProxy, the addresses in X-Forwarded-For',
    true,
    [
      ['1.1.1.1', '10.0.0.1', 200],
      ['2.2.2.2', '10.0.0.1', 200],
      ['1.1.1.1', '10.0.0.2', 429],
    ],
  ],
  [
    'only the last of several addresses, because a client can invent the others',
    true,
    [
      ['7.7.7.7, 1.1.1.1', '10.0.0.1', 200],
      ['8.8.8.8,1.1.1.1', '10.0.0.1', 429],
      ['1.1.1.1, 2.2.2.2', '10.0.0.1', 200],
    ],
  ],
  [
    'connections, if X-Forwarded-For is missing or empty',
    true,
    [
      [null, '10.0.0.1', 200],
      ['', '10.0.0.1', 429],
      ['', '10.0.0.2', 200],
      ['1.1.1.1, ', '10.0.0.2', 429],
    ],
  ],
]

describe('the limit of requests counts', () => {
  it.each(CASES)('%s', async (_, trustProxy, asked) => {
    await using bed = await serviceBed({ settings: { trustProxy, rate: 1, burst: 1 } })
    const statuses: number[] = []
    for (const [forwarded, remoteAddress] of asked) {
      const headers = new Headers(forwarded === null ? {} : { 'X-Forwarded-For': forwarded })
      const request = new Request(`${ORIGIN}/api/documents/room-1/lock`, { headers })
      const answer = await bed.server.fetch(request, { incoming: { socket: { remoteAddress } } })
      statuses.push(answer.status)
    }
    expect(statuses).toEqual(asked.map(([, , status]) => status))
  })
})
