/** Components that change to another document or project, and note what each render got from the hooks. */
import { StrictMode, useEffect } from 'react'
import { flushSync } from 'react-dom'
import { createRoot, type Root } from 'react-dom/client'
import type { DocumentLock } from '../../../src/client/index.ts'
import { createProjectLocks } from '../../../src/project/index.ts'
import { useAutoSave, useDocumentLock, useProjectLock, useSavedContent } from '../../../src/react/index.ts'

interface Rendered {
  readonly key: string
  readonly got: readonly unknown[]
}

const renders: Rendered[] = []
let lockOf: Record<string, DocumentLock> = {}
let acquire: () => Promise<unknown> = async () => {}
let release: () => Promise<void> = async () => {}
let keptRelease = release
let root: Root | undefined

function Document({ url, room }: { readonly url: string; readonly room: string }) {
  const { state, lock } = useDocumentLock(room, { url })
  const { content, isLoaded } = useSavedContent(lock)
  renders.push({ key: room, got: [lock !== null, state.held, isLoaded, content] })
  if (lock) lockOf = { ...lockOf, [room]: lock }
  const text = `text of ${room}`
  // As an ordinary component would save.
  useEffect(() => {
    if (state.held) lock?.save(text).catch(() => {})
  }, [text, state.held, lock])
  return <output>{`${room} ${state.held} ${isLoaded}`}</output>
}

const projects: Record<string, ReturnType<typeof createProjectLocks>> = {}
const locksOf = (name: string) => {
  projects[name] ??= createProjectLocks({ namespace: name })
  return projects[name]
}

function Lock({ project }: { readonly project: string }) {
  const lock = useProjectLock(locksOf(project))
  acquire = lock.acquire
  release = lock.release
  renders.push({ key: project, got: [lock.status, lock.lease !== null] })
  return <output>{`${project} ${lock.status}`}</output>
}

function Project({ project, text }: { readonly project: string; readonly text: string }) {
  const { autosave, state } = useAutoSave(text, {
    locks: locksOf(project),
    // Only closing saves.
    debounce: 3_600_000,
    directory: async () =>
      (await navigator.storage.getDirectory()).getDirectoryHandle(project, { create: true }),
  })
  renders.push({ key: project, got: [autosave !== null, state.unsaved] })
  return <output>{`${project} ${state.unsaved}`}</output>
}

function show(tree: React.ReactNode): void {
  root ??= createRoot(document.body.appendChild(document.createElement('div')))
  flushSync(() => root?.render(<StrictMode>{tree}</StrictMode>))
}

export const scenarios = {
  async showDocument(url: string, room: string) {
    show(<Document url={url} room={room} />)
  },
  async showLock(project: string) {
    show(<Lock project={project} />)
  },
  async showProject(project: string, text: string) {
    show(<Project project={project} text={text} />)
  },
  async edit(room: string) {
    return lockOf[room]?.acquire()
  },
  /** The code with which the lock of a document refuses a save. */
  async saveLate(room: string) {
    return lockOf[room]?.save('late').catch(({ code }: { readonly code: string }) => code)
  },
  async saved(room: string) {
    return (await lockOf[room]?.load())?.content
  },
  async acquireLock() {
    await acquire()
  },
  /** For `releaseKept`: the function that the last render got. */
  async keepRelease() {
    keptRelease = release
  },
  async releaseKept() {
    await keptRelease()
  },
  /** What the first render with this key got. */
  async firstRender(key: string) {
    return renders.find((render) => render.key === key)?.got
  },
  /** All that the files of a project contain. */
  async filesOf(project: string) {
    const texts: string[] = []
    const read = async (directory: FileSystemDirectoryHandle): Promise<void> => {
      for await (const entry of directory.values())
        if (entry.kind === 'directory') await read(entry as FileSystemDirectoryHandle)
        else texts.push(await (await (entry as FileSystemFileHandle).getFile()).text())
    }
    await read(await (await navigator.storage.getDirectory()).getDirectoryHandle(project, { create: true }))
    return texts.join('\n')
  },
  async unmount() {
    root?.unmount()
    root = undefined
  },
}

Object.assign(globalThis, { scenarios })
