/** The side panel: the list, as high as the window. */
import { StatusLine } from './activity.tsx'
import { Checklist } from './checklist.tsx'
import { show } from './surface.tsx'
import { texts } from './texts.ts'

show(
  <>
    <header>
      <h1>{texts.app}</h1>
    </header>
    <Checklist autoFocus />
    <StatusLine />
  </>,
)
