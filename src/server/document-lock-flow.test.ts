import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  ADMIN_TOKEN,
  type Answer,
  type Browser,
  type ServiceBed,
  serviceBed,
  story,
} from '../../test/server/service-bed.ts'

const LOCK = '/api/documents/room-1/lock'

let bed: ServiceBed
let user: Browser
beforeEach(async () => {
  bed = await serviceBed()
  user = bed.browser()
})
afterEach(() => bed[Symbol.asyncDispose]())

describe('the life of a lock, from 12:00:00', () => {
  it('timeline: three heartbeats, the browser closes, and the lock ends 30 s after the last one', async () => {
    const heard = bed.socket('room-1')
    expect(expiry(await user.call('POST', LOCK))).toBe('12:00:30')
    await beatsAt(['12:00:40', '12:00:50', '12:01:00'])
    await until('12:00:40')
    await until('12:01:00')
    expect((await user.call('GET', LOCK)).body.is_locked).toBe(false)
    expect(story(heard)).toEqual(['document.locked 12:00:00', 'document.unlocked 12:01:00'])
    expect(heard[1]?.data).toMatchObject({ room_id: 'room-1', reason: 'expired' })
  })

  it('scenario 1, heartbeats: the lock is kept as long as they come', async () => {
    const heard = bed.socket('room-1')
    const { token } = (await user.call('POST', LOCK)).body
    for (let beat = 0; beat < 30; beat++) {
      await bed.clock.advance(10_000)
      expect((await user.call('PUT', LOCK)).body).toMatchObject({
        success: true,
        expires_in_ms: 30_000,
        token,
      })
      expect((await bed.browser().call('POST', LOCK)).status).toBe(409)
    }
    expect(story(heard)).toEqual(['document.locked 12:00:00'])
  })

  it('scenario 2, the browser is closed: the lock ends 20 s later, at 12:00:50', async () => {
    const heard = bed.socket('room-1')
    await user.call('POST', LOCK)
    await beatsAt(['12:00:40', '12:00:50'])
    await until('12:00:49')
    expect((await bed.browser().call('POST', LOCK)).body).toMatchObject({
      error: 'already_locked',
      expires_in_ms: 1000,
    })
    await until('12:00:50')
    expect(story(heard)).toEqual(['document.locked 12:00:00', 'document.unlocked 12:00:50'])
    const next = await bed.browser().call('POST', LOCK)
    expect(next.status).toBe(200)
    await until('12:01:10')
    expect(story(heard)).toEqual([
      'document.locked 12:00:00',
      'document.unlocked 12:00:50',
      'document.locked 12:00:50',
    ])
  })

  it('scenario 3, the network fails: the lock ends 30 s after the last heartbeat that arrived', async () => {
    const heard = bed.socket('room-1')
    await user.call('POST', LOCK)
    await beatsAt(['12:00:40'])
    await until('12:00:39')
    expect((await user.call('GET', LOCK)).body).toMatchObject({ is_locked: true, holder: { is_you: true } })
    await until('12:00:40')
    expect((await user.call('PUT', LOCK)).body.error).toBe('lock_not_found')
    await until('12:01:00')
    expect(story(heard)).toEqual(['document.locked 12:00:00', 'document.unlocked 12:00:40'])
  })

  it('the sweep after a minute records the expiry in the audit trail, and does not announce it again', async () => {
    const heard = bed.socket('room-1')
    await user.call('POST', LOCK)
    await until('12:01:30')
    const { entries } = (await bed.program(ADMIN_TOKEN).call('GET', '/api/audit')).body
    expect(entries.map(({ action }) => action)).toEqual(['expired', 'lock'])
    expect(heard.filter(({ event }) => event === 'document.unlocked')).toHaveLength(1)
  })
})

/** One heartbeat every ten seconds, each with the expiry that it must bring. */
async function beatsAt(expiries: readonly string[]): Promise<void> {
  for (const expected of expiries) {
    await bed.clock.advance(10_000)
    expect(expiry(await user.call('PUT', LOCK))).toBe(expected)
  }
}

function expiry({ body }: Answer): string {
  return body.expires_at.slice(11, 19)
}

async function until(time: string): Promise<void> {
  await bed.clock.advance(Date.parse(`2030-01-01T${time}Z`) - bed.clock.now())
}
