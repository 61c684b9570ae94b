/** The popup: the list, and the ways to the other surfaces. It may close right after a write. */
import { useSync, useSyncSettings } from '../../../src/react/index.ts'
import { StatusLine, useActivity } from './activity.tsx'
import { Checklist } from './checklist.tsx'
import { show } from './surface.tsx'
import { texts } from './texts.ts'

async function openSidePanel(): Promise<void> {
  const { id = chrome.windows.WINDOW_ID_CURRENT } = await chrome.windows.getCurrent()
  await chrome.sidePanel.open({ windowId: id })
  close()
}

function Popup() {
  const sync = useSync()
  const { run } = useActivity()
  const { featureEnabled } = useSyncSettings()
  return (
    <>
      <header>
        <h1>{texts.app}</h1>
        <label className="switch">
          <input
            type="checkbox"
            checked={featureEnabled}
            onChange={(event) =>
              void run(sync.updateSettings({ featureEnabled: event.target.checked }), texts.notSaved)
            }
          />
          {texts.showOnPages}
        </label>
      </header>
      <Checklist autoFocus />
      <StatusLine />
      <footer>
        <button type="button" className="link" onClick={() => void openSidePanel()}>
          {texts.sidePanel}
        </button>
        <button type="button" className="link" onClick={() => void chrome.runtime.openOptionsPage()}>
          {texts.options}
        </button>
      </footer>
    </>
  )
}

show(<Popup />)
