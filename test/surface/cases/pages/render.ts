import type { ReactNode } from 'react'
import { createRoot, type Root } from 'react-dom/client'

export function render(node: ReactNode): Root {
  const root = createRoot(document.body.appendChild(document.createElement('div')))
  root.render(node)
  return root
}

/** Resolves when the page shows the text. */
export async function shown(text: string): Promise<void> {
  await found(() => document.body.textContent?.includes(text))
}

/** Clicks on the button with this text as soon as there is one. */
export async function press(text: string): Promise<void> {
  const button = () =>
    Array.from(document.querySelectorAll('button')).find((one) => one.textContent === text && !one.disabled)
  await found(button)
  button()?.click()
}

async function found(look: () => unknown): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const observer = new MutationObserver(() => look() && resolve())
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  if (look()) resolve()
  await promise
  observer.disconnect()
}
