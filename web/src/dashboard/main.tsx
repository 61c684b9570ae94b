import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import '../../../src/react/styles.css'
import '../ui/tokens.css'
import './dashboard.css'
import { Dashboard } from './dashboard.tsx'

const root = document.getElementById('root')
if (!root) throw new Error('the page has no #root')
createRoot(root).render(
  <StrictMode>
    <Dashboard />
  </StrictMode>,
)
