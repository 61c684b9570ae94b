/** Components that use the hooks of the sync and count how often they render. */
import { memo, StrictMode } from 'react'
import { flushSync } from 'react-dom'
import { createRoot } from 'react-dom/client'
import {
  SyncProvider,
  useEntities,
  useEntity,
  useEntityIds,
  useSyncSettings,
  useSyncStatus,
} from '../../../src/react/index.ts'
import { createSync, memoryStorage, type Sync } from '../../../src/sync/index.ts'

interface Item {
  readonly n: number
}

const renders: Record<string, number> = {}
const count = (name: string) => {
  renders[name] = (renders[name] ?? 0) + 1
}

const Row = memo(function Row({ id }: { id: string }) {
  count(id)
  return <li>{`${id} ${useEntity<Item>(id)?.n}`}</li>
})

function List() {
  count('list')
  return (
    <ul>
      {useEntityIds().map((id) => (
        <Row key={id} id={id} />
      ))}
    </ul>
  )
}

function Sum() {
  count('sum')
  return <output>{useEntities<Item>().reduce((sum, [, { n }]) => sum + n, 0)}</output>
}

function Theme() {
  count('theme')
  return <i>{useSyncSettings().themeToken}</i>
}

async function mount(strict: boolean) {
  const sync = createSync<Item>({ storage: memoryStorage() })
  await sync.setEntities(Array.from({ length: 100 }, (_, n) => [`e${n}`, { n }]))
  const host = document.createElement('div')
  const root = createRoot(host)
  const tree = (
    <SyncProvider sync={sync}>
      <List />
      <Sum />
      <Theme />
    </SyncProvider>
  )
  flushSync(() => root.render(strict ? <StrictMode>{tree}</StrictMode> : tree))
  return { sync, root, host }
}

/** How often each component renders after `act`. */
async function rendersAfter(act: (sync: Sync<Item>) => Promise<void>) {
  const { sync, root, host } = await mount(false)
  await quiet()
  for (const name of Object.keys(renders)) delete renders[name]
  await act(sync)
  await quiet()
  const text = host.querySelector('output')?.textContent
  root.unmount()
  return { renders: { ...renders }, sum: Number(text), rows: host.childElementCount }
}

/** Resolves when the page has rendered and is idle. */
async function quiet(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 50))
  await new Promise((resolve) => requestIdleCallback(resolve))
}

export const scenarios = {
  change: () => rendersAfter((sync) => sync.setEntity('e7', { n: 1007 })),
  same: () => rendersAfter((sync) => sync.setEntity('e7', { n: 7 })),
  remove: () => rendersAfter((sync) => sync.removeEntity('e7')),
  settings: () => rendersAfter((sync) => sync.updateSettings({ themeToken: '#000' })),
  failed: () => rendersAfter((sync) => sync.patchEntity('none', { n: 1 }).catch(() => {})),

  async strict() {
    const { sync, root, host } = await mount(true)
    await sync.setEntity('e1', { n: 2 })
    await sync.setEntity('new', { n: 1 })
    await quiet()
    const { textContent } = host.querySelector('li:last-child') ?? {}
    const rows = host.querySelectorAll('li').length
    root.unmount()
    await sync.setEntity('e1', { n: 3 })
    return { textContent, rows, left: host.childElementCount }
  },

  /** How often the hooks read the whole list while many entities are set, changed and removed at once. */
  async many() {
    const sync = createSync<Item>({ storage: memoryStorage() })
    let reads = 0
    const counting: Sync<Item> = Object.create(sync, {
      state: {
        get() {
          reads++
          return sync.state
        },
      },
    })
    const host = document.createElement('div')
    const root = createRoot(host)
    flushSync(() =>
      root.render(
        <SyncProvider sync={counting}>
          <List />
          <Sum />
        </SyncProvider>,
      ),
    )
    const set = (n: number) => sync.setEntities(Array.from({ length: 500 }, (_, at) => [`m${at}`, { n }]))
    const shown: (string | null | undefined)[] = []
    for (const act of [() => set(1), () => set(2), () => sync.removeEntity('m0'), () => sync.reset()]) {
      await act()
      await quiet()
      shown.push(`${host.querySelectorAll('li').length} ${host.querySelector('output')?.textContent}`)
    }
    root.unmount()
    return { shown, reads }
  },

  /** The first hook bootstraps the sync; the status follows it. */
  async bootstrap() {
    const storage = memoryStorage()
    await createSync<Item>({ storage }).setEntity('a', { n: 1 })
    const sync = createSync<Item>({ storage })
    const host = document.createElement('div')
    const root = createRoot(host)
    const shown: (string | null)[] = []
    const Status = () => <b>{useSyncStatus()}</b>
    flushSync(() =>
      root.render(
        <SyncProvider sync={sync}>
          <Status />
          <Row id="a" />
        </SyncProvider>,
      ),
    )
    shown.push(host.textContent)
    await quiet()
    shown.push(host.textContent)
    await sync.close()
    await quiet()
    shown.push(host.textContent)
    return shown
  },

  async outside() {
    const root = createRoot(document.createElement('div'), {
      onUncaughtError: (error) => errors.push(String(error)),
    })
    const errors: string[] = []
    root.render(<Theme />)
    await quiet()
    return errors
  },
}

Object.assign(globalThis, { scenarios })
