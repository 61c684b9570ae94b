import { describe, expect, it } from 'vitest'
import { settled } from '../../testing/fake-clock.ts'
import { DiskSync } from './disk-sync.ts'

function setUp() {
  const started: PromiseWithResolvers<void>[] = []
  const disk = new DiskSync(() => {
    const sync = Promise.withResolvers<void>()
    started.push(sync)
    return sync.promise
  })
  const finished: string[] = []
  const wait = (name: string) =>
    disk.finished().then(
      () => finished.push(name),
      () => finished.push(`${name} failed`),
    )
  return { started, finished, wait }
}

describe('a sync of the disk', () => {
  it('a sync of the disk is shared by all that wait for the next one, and never by those that came after it began', async () => {
    const { started, finished, wait } = setUp()
    for (const name of ['a', 'b']) void wait(name)
    await settled()
    expect(started).toHaveLength(1)
    for (const name of ['c', 'd']) void wait(name)
    await settled()
    expect(started).toHaveLength(1)
    started[0]?.resolve()
    await settled()
    expect(finished).toEqual(['a', 'b'])
    expect(started).toHaveLength(2)
    started[1]?.resolve()
    await settled()
    expect(finished).toEqual(['a', 'b', 'c', 'd'])
    expect(started).toHaveLength(2)
  })

  it('a sync of the disk that fails, fails for its own callers only', async () => {
    const { started, finished, wait } = setUp()
    void wait('a')
    await settled()
    void wait('b')
    started[0]?.reject(new Error('EIO'))
    await settled()
    started[1]?.resolve()
    await settled()
    expect(finished).toEqual(['a failed', 'b'])
  })
})
