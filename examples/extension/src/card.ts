/** The card on a page, in plain DOM: each change redraws one row. It knows nothing of the sync. */
import type { SyncStatus } from '../../../src/sync/index.ts'
import contentCss from './content.css'
import { type Item, LABEL_LENGTH } from './model.ts'
import { language, texts } from './texts.ts'
import tokensCss from './tokens.css'

export interface CardActions {
  /** Resolves with whether it was stored. */
  add(label: string): Promise<boolean>
  tick(id: string, checked: boolean): void
  remove(id: string): void
  openOptions(): void
}

export type Card = ReturnType<typeof createCard>

export function createCard(actions: CardActions) {
  const host = element('holdfast-checklist', { lang: language })
  const root = host.attachShadow({ mode: 'open' })
  const rows = new Map<string, HTMLLIElement>()

  const count = element('span')
  const empty = element('p', { className: 'empty quiet', textContent: texts.empty })
  const list = element('ul')
  const field = element('input', {
    ariaLabel: texts.newItem,
    placeholder: texts.newItem,
    maxLength: LABEL_LENGTH,
  })
  const form = element('form', { className: 'add' }, [
    field,
    element('button', { className: 'primary', textContent: texts.add }),
  ])
  const pill = element('span', { className: 'pill', role: 'status' })
  const options = element('button', { className: 'link', type: 'button', textContent: texts.options })
  const body = element('fieldset', {}, [empty, list, form, element('footer', {}, [pill, options])])
  const alert = element('p', { role: 'alert' })
  const card = element('details', {}, [
    element('summary', {}, [element('b', { textContent: texts.app }), count]),
    body,
    alert,
  ])
  root.append(element('style', { textContent: tokensCss + contentCss }), card)

  form.addEventListener('submit', async (event) => {
    event.preventDefault()
    const label = field.value.trim()
    if (!label) return
    // Now, not when it is stored: what is typed in the meantime is the next item.
    field.value = ''
    const isStored = await actions.add(label)
    if (!isStored) field.value ||= label
  })
  options.addEventListener('click', actions.openOptions)
  root.addEventListener('keydown', (event) => {
    if ((event as KeyboardEvent).key !== 'Escape' || !card.open) return
    card.open = false
    card.querySelector('summary')?.focus()
  })
  // What is typed here is not a shortcut of the page.
  for (const type of ['keydown', 'keypress', 'keyup'])
    root.addEventListener(type, (event) => event.stopPropagation())

  return {
    show(isShown: boolean, colour: string): void {
      host.style.setProperty('--mark', colour)
      if (!isShown) host.remove()
      else if (!host.isConnected) document.documentElement.append(host)
    },
    drawStatus(status: SyncStatus): void {
      drawPill(status)
      body.disabled = status !== 'ready'
      if (status !== 'invalidated') return
      const reload = element('button', { className: 'link', type: 'button', textContent: texts.reload })
      reload.addEventListener('click', () => location.reload())
      alert.replaceChildren(texts.invalidated, ' ', reload)
    },
    drawCount(open: number, all: number): void {
      count.textContent = all === 0 ? '' : texts.open(open)
      empty.hidden = all > 0
    },
    /** An empty text takes the last one away. */
    drawFailure(text: string): void {
      drawPill(text ? 'failed' : 'ready')
      alert.textContent = text
      if (text) card.open = true
    },
    drawRow(id: string, { label, checked }: Item): void {
      const row = rows.get(id) ?? createRow(id)
      const [box, text, remove] = row.querySelectorAll<HTMLElement>('input, span, button')
      Object.assign(box ?? {}, { checked })
      if (text) text.textContent = label
      if (remove) remove.ariaLabel = texts.remove(label)
    },
    removeRow,
    removeAllRows(): void {
      for (const id of rows.keys()) removeRow(id)
    },
  }

  function drawPill(status: keyof typeof texts.status): void {
    pill.setAttribute('data-status', status)
    pill.textContent = texts.status[status]
  }

  function createRow(id: string): HTMLLIElement {
    const box = element('input', { type: 'checkbox' })
    const remove = element('button', { className: 'remove', type: 'button', textContent: '×' })
    box.addEventListener('change', () => actions.tick(id, box.checked))
    remove.addEventListener('click', () => {
      const row = rows.get(id)
      const beside = row?.nextElementSibling ?? row?.previousElementSibling
      const next = beside?.querySelector('input') ?? field
      next.focus()
      actions.remove(id)
    })
    const row = element('li', {}, [element('label', {}, [box, element('span')]), remove])
    rows.set(id, row)
    list.append(row)
    return row
  }

  function removeRow(id: string): void {
    rows.get(id)?.remove()
    rows.delete(id)
  }
}

function element<N extends keyof HTMLElementTagNameMap>(
  name: N,
  properties?: Partial<HTMLElementTagNameMap[N]>,
  children?: readonly Node[],
): HTMLElementTagNameMap[N]
function element(name: string, properties?: Partial<HTMLElement>): HTMLElement
function element(name: string, properties: object = {}, children: readonly Node[] = []): HTMLElement {
  const created = Object.assign(document.createElement(name), properties)
  created.append(...children)
  return created
}
