import { describe, expect, it } from 'vitest'
import type { AuditEntry, ObservedLease } from '../../../src/protocol/index.ts'
import { PushedEvents, withTrail } from './timeline.ts'

const LEASE: ObservedLease = {
  resource: 'document:minutes',
  owner: 'mika-1',
  token: 7,
  metadata: { name: 'Mika' },
  share: null,
  acquiredAt: 0,
  expiresAt: 1000,
  remaining: 1000,
  state: 'held',
}
const entry = (action: AuditEntry['action'], token: number, by?: string): AuditEntry => ({
  at: '2020-01-01T00:00:00.000Z',
  action,
  resource: 'document:minutes',
  token,
  owner: 'mika-1',
  owner_name: 'Mika',
  ...(by !== undefined && { by }),
})

describe('the events of the dashboard', () => {
  it('the events of the dashboard begin with the audit trail, and an event is shown once', () => {
    const pushed = new PushedEvents()
    pushed.add(LEASE, 'granted')
    const events = withTrail(pushed.read(), [entry('lock', 7), entry('expired', 6), entry('lock', 6)])
    expect(events.map(({ what, token, holder }) => [what, token, holder])).toEqual([
      ['granted', 7, 'Mika'],
      ['expired', 6, 'Mika'],
      ['granted', 6, 'Mika'],
    ])
  })

  it('the events of the dashboard say who ended a lease by force', () => {
    const pushed = new PushedEvents()
    pushed.add({ ...LEASE, state: 'released' }, 'released')
    const events = withTrail(pushed.read(), [entry('force-release', 7, 'admin')])
    expect(events).toMatchObject([{ what: 'forced', by: 'admin' }])
  })

  it('the events of the dashboard are not displaced by renewals', () => {
    const pushed = new PushedEvents()
    pushed.add(LEASE, 'granted')
    for (let n = 0; n < 5000; n++) pushed.add(LEASE, 'renewed')
    const kept = pushed.read()
    expect(kept.length).toBeLessThanOrEqual(1000)
    expect(kept.map(({ what }) => what)).toContain('granted')
  })
})
