import {
  type AutoSave,
  type AutoSaveEvent,
  type AutoSaveLocks,
  type AutoSaveOptions,
  createAutoSave,
  type Journal,
  type TabChannel,
} from '../../src/autosave/index.ts'
import { projectBed, type Tab } from '../web/project-bed.ts'
import { FakeDisk } from './fake-disk.ts'

export interface Story {
  readonly title: string
}

export interface Editor {
  readonly autosave: AutoSave<Story>
  readonly events: AutoSaveEvent[]
  readonly tab: Tab
  /** The phases so far, in order. */
  phases(): string[]
  title: string
  /** Changes the title and calls `changed`. */
  edit(title: string): void
  /** Loads the best recoverable state, as an editor does at its start. Returns its title. */
  recover(): Promise<string | null>
}

export type EditorOptions = Partial<Omit<AutoSaveOptions<Story>, 'namespace' | 'locks'>> & {
  readonly tab?: Tab
  readonly locks?: AutoSaveLocks
}

/** An origin with a disk and a journal, and as many tabs with an editor as a test opens. */
export function editorBed(disk = new FakeDisk()) {
  const bed = projectBed()
  const journal = memoryJournal()
  const joinChannel = fakeChannel()

  function openEditor({ tab = bed.openTab(), ...options }: EditorOptions = {}): Editor {
    const events: AutoSaveEvent[] = []
    const autosave = createAutoSave<Story>({
      read: () => ({ title: editor.title }),
      locks: tab.locks,
      directory: disk.root,
      clock: bed.clock,
      journal,
      channel: joinChannel(),
      onEvent: (event) => events.push(event),
      ...options,
    })
    const editor: Editor = {
      autosave,
      events,
      tab,
      title: '',
      phases: () =>
        events.flatMap((event) =>
          event.type === 'autosave:state' && event.phase !== event.from ? event.phase : [],
        ),
      edit(title) {
        editor.title = title
        autosave.changed()
      },
      async recover() {
        const [latest] = await autosave.restore({ limit: 1 })
        if (latest) editor.title = (await latest.load()).title
        return latest ? editor.title : null
      },
    }
    return editor
  }

  /** Edits and lets the save happen. */
  async function save(editor: Editor, title: string): Promise<void> {
    editor.edit(title)
    await bed.finished(editor.autosave.flush())
  }

  /** The title in the current save. */
  const saved = () => titleOnDisk(disk)

  return { ...bed, disk, journal, joinChannel, openEditor, save, saved }
}

/** A `BroadcastChannel`: every message reaches all the others, later. */
function fakeChannel(): () => TabChannel {
  const listeners = new Map<TabChannel, (event: MessageEvent) => void>()
  return () => {
    const own: TabChannel = {
      addEventListener: (_type: string, listener: unknown) =>
        listeners.set(own, listener as (event: MessageEvent) => void),
      postMessage(data) {
        for (const [other, listener] of listeners)
          if (other !== own) queueMicrotask(() => listener({ data } as MessageEvent))
      },
      close: () => listeners.delete(own),
    }
    return own
  }
}

/** Reads as another program would: `current.json`, then the save that it names. */
export function titleOnDisk(disk: FakeDisk): string | null {
  const current = disk.files.get('/project/autosave/current.json')
  if (!current) return null
  const { file } = JSON.parse(current)
  return JSON.parse(disk.files.get(`/project/autosave/${file}`) ?? '{}').data?.title ?? null
}

export function memoryJournal(capacity = Infinity): Journal & { readonly items: Map<string, string> } {
  const items = new Map<string, string>()
  return {
    items,
    write(key, text) {
      const others = [...items].filter(([other]) => other !== key)
      if (others.reduce((sum, [, item]) => sum + item.length, text.length) > capacity)
        throw new DOMException('full', 'QuotaExceededError')
      items.set(key, text)
    },
    read: () => [...items].map(([key, text]) => ({ key, text })),
    remove: (key) => items.delete(key),
  }
}
