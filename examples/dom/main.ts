import { createDocumentLock, followContent } from '../../src/client/index.ts'

const params = new URLSearchParams(location.search)
const lock = createDocumentLock({ roomId: 'minutes-42', name: params.get('name') ?? 'Mika' })
const saved = followContent(lock)

const text = find(HTMLTextAreaElement, 'text')
const edit = find(HTMLButtonElement, 'edit')
const save = find(HTMLButtonElement, 'save')
const stop = find(HTMLButtonElement, 'stop')
const who = find(HTMLElement, 'who')
const problem = find(HTMLElement, 'problem')
/** What was typed, and in which turn. Each grant of the lock has its own token. */
let typed: { readonly text: string; readonly token: number | null; isSaved: boolean } | null = null

lock.subscribe(render)
saved.subscribe(render)
text.oninput = () => {
  typed = { text: text.value, token: lock.state.token, isSaved: false }
}
edit.onclick = () => lock.acquire({ wait: Infinity })
save.onclick = store
stop.onclick = async () => {
  if (await store()) await lock.release()
}
render()

/** Resolves with whether it is saved. */
async function store(): Promise<boolean> {
  const sent = typed
  try {
    await lock.save(text.value)
    if (sent) sent.isSaved = true
    problem.textContent = ''
    return true
  } catch (error) {
    problem.textContent = `Not saved: ${(error as Error).message}`
    return false
  }
}

function render(): void {
  const { phase, held, holder, place, token } = lock.state
  const { content, isLoaded } = saved.state
  if (typed?.isSaved && !held) typed = null
  if (typed && typed.token !== token) {
    // Others may have saved since. It is not saved over their text, and not lost either.
    problem.textContent = `Not saved in your last turn: ${typed.text}`
    typed = null
  }
  if (isLoaded && !typed) text.value = String(content ?? '')
  text.readOnly = !held || !isLoaded
  edit.disabled = held || phase === 'acquiring' || phase === 'waiting'
  save.disabled = stop.disabled = !held || !isLoaded
  if (phase === 'troubled') who.textContent = 'Connection trouble. You can keep typing.'
  else if (held) who.textContent = 'You are editing.'
  else if (phase === 'waiting') who.textContent = `You are in line, ${place ?? 0} before you.`
  else if (phase === 'lost') who.textContent = 'You are no longer editing.'
  else if (holder) who.textContent = `${holder.name ?? 'Somebody'} is editing.`
  else who.textContent = 'Nobody is editing.'
}

function find<E extends HTMLElement>(type: new () => E, id: string): E {
  const element = document.getElementById(id)
  if (!(element instanceof type)) throw new Error(`the page has no #${id}`)
  return element
}
