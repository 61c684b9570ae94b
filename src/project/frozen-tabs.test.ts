import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { FakeChannel, useFakeChannels } from '../../test/web/fake-channels.ts'
import { projectBed } from '../../test/web/project-bed.ts'

const TAKEOVER_MS = 30_000

// The fake clock does not wait until a module is loaded on demand.
beforeAll(() => import('../stores/browser/frozen-tabs-protocol.ts'))
beforeEach(useFakeChannels)
afterEach(() => {
  vi.unstubAllGlobals()
})

async function bedWithHolder() {
  const bed = projectBed()
  const openTab = () => bed.openTab({ takeoverAfter: TAKEOVER_MS })
  const holder = openTab()
  const lease = await bed.finished(holder.locks.acquireProjectLock())
  const [channel] = FakeChannel.open
  if (!channel) throw new Error('the holder cannot be asked')
  const holds = () => holder.locks.holdsProjectLock(lease)
  /** Waits in the queue. The result says whether the lock was granted. */
  function wait(tab = openTab()) {
    const waiter = { isGranted: false, tab }
    tab.locks.acquireProjectLock({ standby: true }).then(() => {
      waiter.isGranted = true
    })
    return waiter
  }
  return { ...bed, openTab, holder, lease, channel, holds, wait }
}

describe('a tab that waits', () => {
  it('a tab that waits takes the Web Lock of a frozen tab, which is told', async () => {
    const { clock, channel, holder, holds, lease, wait } = await bedWithHolder()
    const waiter = wait()
    channel.freeze()
    await clock.advance(TAKEOVER_MS - 1000)
    expect(waiter.isGranted).toBe(false)
    await clock.advance(6000)
    expect(waiter.isGranted).toBe(true)
    expect(holds()).toBe(false)
    expect(holder.locks.projectLockSignal(lease).aborted).toBe(true)
    expect(holder.emitted().at(-1)).toBe('error')
  })

  it('a tab that waits takes it also with the default attempts of ten seconds each', async () => {
    const { channel, finished, openTab } = await bedWithHolder()
    channel.freeze()
    expect(await finished(openTab().locks.acquireProjectLock())).toMatchObject({ backend: 'web' })
  })

  it('a tab that waits never takes it from a tab that answers, however late its answers are', async () => {
    const { clock, holds, wait } = await bedWithHolder()
    FakeChannel.deliver = (deliver) => clock.setTimer(deliver, 7000)
    const waiter = wait()
    await clock.advance(20 * TAKEOVER_MS)
    expect(waiter.isGranted).toBe(false)
    expect(holds()).toBe(true)
  })

  it('a tab that waits begins anew when a tab thaws in time', async () => {
    const { clock, channel, holds, wait } = await bedWithHolder()
    const waiter = wait()
    for (let n = 0; n < 5; n++) {
      channel.freeze()
      await clock.advance(TAKEOVER_MS - 6000)
      channel.thaw()
      await clock.advance(6000)
    }
    expect(waiter.isGranted).toBe(false)
    expect(holds()).toBe(true)
  })

  it('a tab that waits leaves the lock to the tab before it in the queue, and does not take it from that tab', async () => {
    const { clock, channel, wait } = await bedWithHolder()
    const [first, second] = [wait(), wait()]
    channel.freeze()
    await clock.advance(10 * TAKEOVER_MS)
    expect([first.isGranted, second.isGranted]).toEqual([true, false])
  })

  it('a tab that waits does not take it from an older version or another program, which cannot answer', async () => {
    const { clock, manager, openTab, wait } = await bedWithHolder()
    const other = manager.tab()
    void other.request('imgponic:project:history', {}, () => new Promise(() => {}))
    const tab = openTab()
    let isGranted = false
    tab.locks.acquireProjectLock({ standby: true, scope: 'history' }).then(() => {
      isGranted = true
    })
    wait(tab)
    await clock.advance(10 * TAKEOVER_MS)
    expect(isGranted).toBe(false)
  })

  it('a tab that waits does not take it without a BroadcastChannel', async () => {
    const { clock, channel, wait } = await bedWithHolder()
    channel.freeze()
    vi.stubGlobal('BroadcastChannel', undefined)
    const waiter = wait()
    await clock.advance(10 * TAKEOVER_MS)
    expect(waiter.isGranted).toBe(false)
  })

  it('a tab that waits does not take it if the option says so', async () => {
    const { clock, openTab, finished } = projectBed()
    await finished(openTab().locks.acquireProjectLock())
    expect(FakeChannel.open.size).toBe(0)
    let isGranted = false
    openTab()
      .locks.acquireProjectLock({ standby: true })
      .then(() => {
        isGranted = true
      })
    await clock.advance(10 * TAKEOVER_MS)
    expect(isGranted).toBe(false)
  })
})

describe('a tab that holds the lock', () => {
  it('a tab that holds the lock may not write after the machine slept, until it knows that the lock is still its own', async () => {
    const { clock, finished, holder, holds, lease } = await bedWithHolder()
    clock.jump(TAKEOVER_MS)
    expect(holds()).toBe(false)
    await finished(holder.locks.renewProjectLock(lease))
    await clock.advance(1)
    expect(holds()).toBe(true)
  })

  it('a tab that holds the lock keeps neither a channel nor a lock after its release', async () => {
    const { finished, holder, lease, manager } = await bedWithHolder()
    await finished(holder.locks.releaseProjectLock(lease))
    expect(FakeChannel.open.size).toBe(0)
    expect((await manager.tab().query()).held).toEqual([])
  })
})
