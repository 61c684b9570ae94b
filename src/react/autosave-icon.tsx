import type { AutoSaveMessage } from './autosave-texts.ts'

/** Strokes in a box of 16 by 16. */
const SHAPES = {
  check: 'M3.5 8.5l3 3 6-7',
  pencil: 'M3 13l.7-3L10.5 3.2l2.3 2.3L6 12.3z',
  arrows: 'M13 8a5 5 0 0 1-9.3 2.5M3 8a5 5 0 0 1 9.3-2.5M12.5 2.5v3h-3M3.5 13.5v-3h3',
  clock: 'M8 2.5a5.5 5.5 0 1 0 0 11a5.5 5.5 0 1 0 0-11M8 5v3.2l2 1.3',
  lock: 'M4 7.5h8v5.5H4zM5.5 7.5V5.5a2.5 2.5 0 0 1 5 0v2',
  warning: 'M8 2.5l6 10.5H2zM8 6.5v3M8 11.2v.1',
  dash: 'M4 8h8',
}

const ICONS: Readonly<Record<AutoSaveMessage, keyof typeof SHAPES>> = {
  nothing: 'check',
  saved: 'check',
  fallback: 'check',
  unsaved: 'pencil',
  saving: 'arrows',
  waiting: 'clock',
  retrying: 'warning',
  held: 'lock',
  lost: 'lock',
  conflict: 'lock',
  unsupported: 'lock',
  full: 'warning',
  denied: 'warning',
  failed: 'warning',
  off: 'dash',
}

export function AutoSaveIcon({ message }: { readonly message: AutoSaveMessage }) {
  const icon = ICONS[message]
  return (
    <svg className="hf-icon" data-icon={icon} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
      <path d={SHAPES[icon]} />
    </svg>
  )
}
