import { expect, it } from 'vitest'
import { FakeFileSystem } from '../../../test/web/fake-directory.ts'
import { FakeClock } from '../../testing/index.ts'
import { directoryStore } from './directory-store.ts'

it('a damaged file holds up a store for 30 s, though the clock was set back since its last change', async () => {
  const clock = new FakeClock()
  const files = new FakeFileSystem(clock)
  files.put('holdfast.json', 'damaged')
  clock.jump(-86_400_000)
  const store = directoryStore(files.root, { clock })
  const acquire = async () => {
    const asking = store.acquire({ resource: 'a', id: '1', owner: 'me', ttl: 1000 }).catch(({ code }) => code)
    await clock.advance(100)
    return asking
  }
  expect(await acquire()).toBe('store-unavailable')
  await clock.advance(29_000)
  expect(await acquire()).toBe('store-unavailable')
  await clock.advance(1000)
  expect(await acquire()).toMatchObject({ granted: true })
  await store.close()
})
